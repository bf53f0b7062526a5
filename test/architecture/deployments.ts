/** What docker-compose.yml and deploy/kubernetes give to the processes. */
import { parseAllDocuments, parse as parseYaml } from 'yaml';
import { files, read } from './support.ts';

type Environment = Record<string, string | undefined>;

export const nameOf = (owner: string): string => owner.split('/').at(-1) ?? '';

/** Not limits, named after what they count, such as `SMS_SIGNED_IN_PER_PHONE`, nor directories. */
export const isSecret = (name: string): boolean =>
  /SECRET|PASSWORD|_KEY|TOKEN$|MERCHANT|PHONE$|MONGODB_URI$|^SMTP_URL$|(?:^|_)AMQP_URL$|(?:^|_)REDIS_URL$/.test(
    name,
  ) && !/_PER_|_MS$|_DIRECTORY$/.test(name);

/** The addresses of the servers contain a password of the process. */
const OF_SERVERS = ['MONGODB_URI', 'REDIS_URL', 'AMQP_URL'];

/** The variable of `.env` for a variable of a process. */
export const nameInDotEnv = (owner: string, name: string): string =>
  OF_SERVERS.includes(name) ? `${nameOf(owner).toUpperCase().replaceAll('-', '_')}_${name}` : name;

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
  image?: string;
  networks?: string[] | Record<string, unknown>;
  profiles?: string[];
  ports?: string[];
  volumes?: string[];
}

interface Compose {
  services: Record<string, ComposeService>;
  networks: Record<string, { internal?: boolean } | null>;
}

const compose = (): Compose => parseYaml(read('docker-compose.yml'), { merge: true }) as Compose;

export const composeServices = (): Record<string, ComposeService> => compose().services;

/** The networks of a container that lead out of the machine. */
export const networksOut = ({ networks = [] }: ComposeService): string[] => {
  const all = compose().networks;
  return (Array.isArray(networks) ? networks : Object.keys(networks)).filter(
    (name) => all[name]?.internal !== true,
  );
};

/** The variables of `.env` whose values a container gets. */
export const takenFromDotEnv = ({ environment = {} }: ComposeService): string[] =>
  Object.entries(environment).flatMap(([name, value]) =>
    value === null
      ? [name]
      : [...String(value).matchAll(/\$\{([A-Z][A-Z0-9_]*)/g)].map(([, taken = '']) => taken),
  );

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
  image?: string;
  args?: string[];
  volumeMounts?: { name: string; mountPath: string }[];
  env?: { name: string; value: string }[];
  envFrom?: { configMapRef?: { name: string }; secretRef?: { name: string } }[];
  startupProbe?: { httpGet: { path?: string; scheme?: string } };
  readinessProbe?: { httpGet: { scheme?: string } };
  livenessProbe?: { httpGet: { path?: string; scheme?: string } };
}

interface Peer {
  podSelector?: { matchLabels: Record<string, string> };
  namespaceSelector?: { matchLabels: Record<string, string> };
  ipBlock?: { cidr: string; except?: string[] };
}

interface Manifest {
  kind: string;
  metadata?: { name: string };
  data?: Record<string, string>;
  images?: Record<string, string>[];
  resources?: string[];
  spec?: {
    clusterIP?: string;
    secretName?: string;
    dnsNames?: string[];
    template?: {
      spec?: {
        containers?: Container[];
        initContainers?: Container[];
        terminationGracePeriodSeconds?: number;
        volumes?: { name: string; secret?: { secretName: string }; configMap?: { name: string } }[];
      };
    };
    podSelector?: { matchLabels: Record<string, string> };
    policyTypes?: string[];
    ingress?: { from?: object[] }[];
    egress?: { to?: Peer[]; ports?: { protocol: string; port: number }[] }[];
  };
}

export const manifestsOf = (file: string): Manifest[] =>
  parseAllDocuments(read(file)).map((document) => document.toJS() as Manifest);

export const kubernetesFiles = (): string[] =>
  files.filter((file) => /^deploy\/kubernetes\/.*\.yaml$/.test(file));

/** The keys of the Secret of a process, without values. */
export const secretExample = (owner: string): string =>
  `deploy/kubernetes/secrets/${nameOf(owner)}.example.env`;

/** `common`: of the ConfigMap; `own`: of one deployment; `secrets`: of its Secret, whose values are empty. */
export const kubernetesEnvironment = () => {
  const manifests = kubernetesFiles().flatMap(manifestsOf);
  const containers = manifests.flatMap(({ spec }) => spec?.template?.spec?.containers ?? []);
  const settings = manifests
    .filter(({ kind }) => kind === 'ConfigMap')
    .flatMap(({ data = {} }) => Object.entries(data));
  return {
    containers,
    common: new Map(settings),
    secrets: (owner: string) => new Map(Object.entries(parseEnvFile(secretExample(owner)))),
    own: (owner: string) =>
      new Map(
        containers
          .filter(({ name }) => name === nameOf(owner))
          .flatMap(({ env = [] }) => env.map(({ name, value }): [string, string] => [name, value])),
      ),
  };
};

/** Where the pods of a process may connect to: `<process>:<port>`, `data:<port>` for the servers, `internet:<port>`. */
export const kubernetesEgress = (owner: string): string[] =>
  kubernetesFiles()
    .flatMap(manifestsOf)
    .filter(({ kind, spec }) => {
      const selected = spec?.podSelector?.matchLabels['app.kubernetes.io/name'];
      return kind === 'NetworkPolicy' && selected === nameOf(owner);
    })
    .flatMap(({ spec }) => spec?.egress ?? [])
    .flatMap(({ to = [], ports = [] }) =>
      to.flatMap((peer) => ports.map(({ port }) => `${nameOfPeer(peer)}:${port}`)),
    );

const nameOfPeer = ({ podSelector, namespaceSelector, ipBlock }: Peer): string => {
  if (ipBlock !== undefined) return ipBlock.cidr === '0.0.0.0/0' ? 'internet' : ipBlock.cidr;
  const pod = podSelector?.matchLabels['app.kubernetes.io/name'];
  return pod ?? namespaceSelector?.matchLabels['kubernetes.io/metadata.name'] ?? 'anywhere';
};
