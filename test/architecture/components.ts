/** The packages of the images, as the lock file names them. */
import { posix } from 'node:path';
import { read } from './support.ts';

interface Locked {
  version?: string;
  license?: string;
  link?: boolean;
  resolved?: string;
  os?: string[];
  cpu?: string[];
  libc?: string[];
  dependencies?: Record<string, string>;
  optionalDependencies?: Record<string, string>;
  peerDependencies?: Record<string, string>;
  peerDependenciesMeta?: Record<string, { optional?: boolean }>;
}

export interface Component {
  name: string;
  version: string;
  license: string;
}

/** The workspaces that the Dockerfile installs for each image. */
export const IMAGES = {
  'fitness-platform': [
    'gateway',
    ...['identity', 'wallet', 'gyms', 'content', 'media', 'store-billing'].map((name) => `services/${name}`),
  ],
  'fitness-platform-sandbox': ['sandbox'],
} as const;

/** The folder of a package as Node finds it from this one. */
const resolve = (packages: Record<string, Locked>, from: string, name: string): string | undefined => {
  for (let folder = from; ; folder = posix.dirname(folder)) {
    const path = posix.join(folder, 'node_modules', name);
    if (packages[path] !== undefined) return path;
    if (folder === '.') return undefined;
  }
};

const neededBy = ({
  dependencies,
  optionalDependencies,
  peerDependencies = {},
  peerDependenciesMeta = {},
}: Locked): string[] => [
  ...Object.keys({ ...dependencies, ...optionalDependencies }),
  ...Object.keys(peerDependencies).filter((name) => peerDependenciesMeta[name]?.optional !== true),
];

/** The base is Debian. */
const isInstalled = ({ os = ['linux'], cpu, libc = ['glibc'] }: Locked, arch: readonly string[]): boolean =>
  os.includes('linux') && libc.includes('glibc') && (cpu?.some((name) => arch.includes(name)) ?? true);

/** What a process loads from these workspaces: their dependencies, and those of these, without optional peers. */
export const componentsOf = (workspaces: readonly string[], arch: readonly string[]): Component[] => {
  const { packages }: { packages: Record<string, Locked> } = JSON.parse(read('package-lock.json'));
  const reached = new Set<string>();
  const open = [...workspaces];
  for (let path = open.pop(); path !== undefined; path = open.pop()) {
    const locked = packages[path];
    if (reached.has(path) || locked === undefined || !isInstalled(locked, arch)) continue;
    reached.add(path);
    const from = path;
    if (locked.link) open.push(locked.resolved ?? '');
    else open.push(...neededBy(locked).flatMap((name) => resolve(packages, from, name) ?? []));
  }
  const components = [...reached]
    .filter((path) => path.includes('node_modules/') && packages[path]?.link !== true)
    .map((path) => ({
      name: path.split('node_modules/').at(-1) ?? '',
      version: packages[path]?.version ?? '',
      license: packages[path]?.license ?? '',
    }));
  const unique = new Map(
    components.map((component) => [`${component.name}@${component.version}`, component]),
  );
  return [...unique].sort(([a], [b]) => (a < b ? -1 : 1)).map(([, component]) => component);
};
