/** What docker-compose.yml and deploy/kubernetes give to the processes. */
import { parseAllDocuments, parse as parseYaml } from 'yaml';
import { files, read } from './support.ts';

type Environment = Record<string, string | undefined>;

const nameOf = (owner: string): string => owner.split('/').at(-1) ?? '';

/** `NAME=value` lines. */
export const parseEnvFile = (file: string): Record<string, string> =>
  Object.fromEntries(
    read(file)
      .split('\n')
      .flatMap((line) => {
        const [, name, value] = /^([A-Z][A-Z0-9_]*)=(.*)$/.exec(line) ?? [];
        return name === undefined || value === undefined ? [] : [[name, value]];
      }),
  );

export class MissingVariable extends Error {
  readonly variable: string;
  constructor(variable: string) {
    super(`${variable} is required`);
    this.variable = variable;
  }
}

/** The end of the expression that begins at `start`, right behind `${`. */
const closingBrace = (text: string, start: number): number => {
  let depth = 1;
  for (let at = start; at < text.length; at += 1) {
    if (text.startsWith('${', at)) depth += 1;
    else if (text[at] === '}') depth -= 1;
    if (depth === 0) return at;
  }
  throw new Error(`no closing brace in ${text}`);
};

/** Docker Compose's interpolation: `$$`, `${NAME}`, `${NAME:-default}`, `${NAME:?message}`. */
export const interpolate = (text: string, env: Environment): string => {
  const dollar = text.indexOf('$');
  if (dollar === -1) return text;
  const before = text.slice(0, dollar);
  if (text[dollar + 1] === '$') return `${before}$${interpolate(text.slice(dollar + 2), env)}`;
  if (text[dollar + 1] !== '{') throw new Error(`not supported: ${text}`);
  const end = closingBrace(text, dollar + 2);
  const [, name = '', operator, rest = ''] =
    /^([A-Z][A-Z0-9_]*)(?:(:-|:\?)(.*))?$/s.exec(text.slice(dollar + 2, end)) ?? [];
  if (name === '') throw new Error(`not supported: ${text}`);
  const given = env[name] || undefined;
  if (given === undefined && operator === ':?') throw new MissingVariable(name);
  const value = given ?? (operator === ':-' ? interpolate(rest, env) : '');
  return before + value + interpolate(text.slice(end + 1), env);
};

interface ComposeService {
  environment?: Record<string, string | null>;
  profiles?: string[];
  ports?: string[];
}

export const composeServices = (): Record<string, ComposeService> =>
  (parseYaml(read('docker-compose.yml'), { merge: true }) as { services: Record<string, ComposeService> })
    .services;

/** The variables of a container, given the content of `.env`. */
export const composeEnvironment = (owner: string, env: Environment): Environment =>
  Object.fromEntries(
    Object.entries(composeServices()[nameOf(owner)]?.environment ?? {}).map(([name, value]) => [
      name,
      value === null ? env[name] : interpolate(String(value), env),
    ]),
  );

interface Container {
  name: string;
  env?: { name: string; value: string }[];
  envFrom?: { configMapRef?: { name: string }; secretRef?: { name: string } }[];
}

interface Manifest {
  kind: string;
  data?: Record<string, string>;
  resources?: string[];
  spec?: { template?: { spec?: { containers?: Container[] } }; ingress?: { from?: object[] }[] };
}

export const manifestsOf = (file: string): Manifest[] =>
  parseAllDocuments(read(file)).map((document) => document.toJS() as Manifest);

export const kubernetesFiles = (): string[] =>
  files.filter((file) => /^deploy\/kubernetes\/.*\.yaml$/.test(file));

export const SECRET_EXAMPLE = 'deploy/kubernetes/secret.example.env';

/** `common`: of the ConfigMap and of the Secret, whose values are empty; `own`: of one deployment alone. */
export const kubernetesEnvironment = () => {
  const manifests = kubernetesFiles().flatMap(manifestsOf);
  const containers = manifests.flatMap(({ spec }) => spec?.template?.spec?.containers ?? []);
  const settings = manifests
    .filter(({ kind }) => kind === 'ConfigMap')
    .flatMap(({ data = {} }) => Object.entries(data));
  return {
    containers,
    common: new Map([...settings, ...Object.entries(parseEnvFile(SECRET_EXAMPLE))]),
    own: (owner: string) =>
      new Map(
        containers
          .filter(({ name }) => name === nameOf(owner))
          .flatMap(({ env = [] }) => env.map(({ name, value }): [string, string] => [name, value])),
      ),
  };
};
