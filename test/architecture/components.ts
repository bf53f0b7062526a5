/** The packages of the images, according to the lock file. */
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

/** The folder where Node finds a package from this folder. */
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

/** Whether a package is installed in the image, whose base is Debian. */
const isInstalled = ({ os = ['linux'], cpu, libc = ['glibc'] }: Locked, arch: readonly string[]): boolean =>
  os.includes('linux') && libc.includes('glibc') && (cpu?.some((name) => arch.includes(name)) ?? true);

/** Packages that processes of these workspaces load: all transitive dependencies without optional peers. */
export const componentsOf = (workspaces: readonly string[], arch: readonly string[]): Component[] => {
  const { packages }: { packages: Record<string, Locked> } = JSON.parse(read('package-lock.json'));
  const visited = new Set<string>();
  const open = [...workspaces];
  for (let path = open.pop(); path !== undefined; path = open.pop()) {
    const locked = packages[path];
    if (visited.has(path) || locked === undefined || !isInstalled(locked, arch)) continue;
    visited.add(path);
    const from = path;
    if (locked.link) open.push(locked.resolved ?? '');
    else open.push(...neededBy(locked).flatMap((name) => resolve(packages, from, name) ?? []));
  }
  const components = [...visited]
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
