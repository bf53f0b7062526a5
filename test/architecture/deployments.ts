/** What docker-compose.yml and deploy/kubernetes give to the processes. */
import { isSecretName } from '@fitness/shared/kernel/known-values.ts';
import { parseAllDocuments, parse as parseYaml } from 'yaml';
import { exists, files, read } from './support.ts';

type Environment = Record<string, string | undefined>;

export const EXAMPLE = '.env.example';

export const nameOf = (owner: string): string => owner.split('/').at(-1) ?? '';

/** Whether deployments keep a variable secret. Addresses may contain a password, and the phone is personal. */
export const isSecret = (name: string): boolean =>
  isSecretName(name) ||
  /(?:MONGODB_URI|AMQP_URL|REDIS_URL|SMTP_URL|_HEADERS|ADMINISTRATOR_PHONE)$/.test(name);

/** The token for a telemetry collector. All processes share it, and it gives no access to the product. */
export const OF_ALL = 'OTEL_EXPORTER_OTLP_HEADERS';

/** Whether one process has the secret. A phone number is not a credential; the administrator is identified by it. */
export const isCredential = (name: string): boolean =>
  isSecret(name) && !name.endsWith('PHONE') && name !== OF_ALL;

/** Server addresses, each of which contains the process's password. */
const OF_SERVERS = ['MONGODB_URI', 'REDIS_URL', 'AMQP_URL'];

/** The name in `.env` of a process's variable. */
export const nameInDotEnv = (owner: string, name: string): string =>
  OF_SERVERS.includes(name) ? `${nameOf(owner).toUpperCase().replaceAll('-', '_')}_${name}` : name;

/** The `NAME=value` lines of a file. */
export const parseEnvFile = (file: string): Record<string, string> =>
  Object.fromEntries(
    read(file)
      .split('\n')
      .flatMap((line) => {
        const [, name, value] = /^([A-Z][A-Z0-9_]*)=(.*)$/.exec(line) ?? [];
        return name === undefined || value === undefined ? [] : [[name, interpolate(value, {})]];
      }),
  );

export class MissingVariable extends Error {
  readonly variable: string;
  constructor(variable: string) {
    super(`${variable} is required`);
    this.variable = variable;
  }
}

/** The end of the expression that begins at `start`, right after `${`. */
const closingBrace = (text: string, start: number): number => {
  let depth = 1;
  for (let at = start; at < text.length; at += 1) {
    if (text.startsWith('${', at)) depth += 1;
    else if (text[at] === '}') depth -= 1;
    if (depth === 0) return at;
  }
  throw new Error(`no closing brace in ${text}`);
};

/** Docker Compose's interpolation: `$$`, `${NAME}`, `${NAME:-default}`, `${NAME:?message}`, `${NAME?message}`. */
export const interpolate = (text: string, env: Environment): string => {
  const dollar = text.indexOf('$');
  if (dollar === -1) return text;
  const before = text.slice(0, dollar);
  if (text[dollar + 1] === '$') return `${before}$${interpolate(text.slice(dollar + 2), env)}`;
  if (text[dollar + 1] !== '{') throw new Error(`not supported: ${text}`);
  const end = closingBrace(text, dollar + 2);
  const [, name = '', operator, rest = ''] =
    /^([A-Z][A-Z0-9_]*)(?:(:-|:?\?)(.*))?$/s.exec(text.slice(dollar + 2, end)) ?? [];
  if (name === '') throw new Error(`not supported: ${text}`);
  const supplied = env[name] || undefined;
  const isMissing = operator === '?' ? env[name] === undefined : operator === ':?' && supplied === undefined;
  if (isMissing) throw new MissingVariable(name);
  const value = supplied ?? (operator === ':-' ? interpolate(rest, env) : '');
  return before + value + interpolate(text.slice(end + 1), env);
};

interface ComposeService {
  cpus?: number;
  environment?: Record<string, string | null>;
  image?: string;
  mem_limit?: string;
  networks?: string[] | Record<string, unknown>;
  pids_limit?: number;
  profiles?: string[];
  ports?: string[];
  secrets?: string[];
  volumes?: string[];
}

interface Compose {
  services: Record<string, ComposeService>;
  networks: Record<string, { internal?: boolean } | null>;
  secrets: Record<string, { file: string }>;
}

/** Parses each file once for all tests. They do not change what is returned. `npm run generate` may change a file meanwhile. */
const once = <Parsed>(readText: (text: string) => Parsed) => {
  const known = new Map<string, Parsed>();
  return (file: string): Parsed => {
    const text = read(file);
    const parsed = known.get(text) ?? readText(text);
    known.set(text, parsed);
    return parsed;
  };
};

const composeOf = once((text) => parseYaml(text, { merge: true }) as Compose);
const compose = (): Compose => composeOf('docker-compose.yml');

export const composeSecrets = (): Record<string, { file: string }> => compose().secrets;

export const composeServices = (): Record<string, ComposeService> => compose().services;

/** The networks of a container that lead outside the machine. */
export const networksOut = ({ networks = [] }: ComposeService): string[] => {
  const all = compose().networks;
  return (Array.isArray(networks) ? networks : Object.keys(networks)).filter(
    (name) => all[name]?.internal !== true,
  );
};

/** The variables of `.env` whose values a container receives. */
export const takenFromDotEnv = ({ environment = {} }: ComposeService): string[] =>
  Object.entries(environment).flatMap(([name, value]) =>
    value === null
      ? [name]
      : [...String(value).matchAll(/\$\{([A-Z][A-Z0-9_]*)/g)].map(([, variable = '']) => variable),
  );

/** The variables of a container for the given content of `.env`. */
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
  env?: {
    name: string;
    value?: string;
    valueFrom?: { secretKeyRef?: { name: string }; configMapKeyRef?: { name: string; key: string } };
  }[];
  envFrom?: { configMapRef?: { name: string }; secretRef?: { name: string } }[];
  startupProbe?: { httpGet: { path?: string; scheme?: string } };
  readinessProbe?: { httpGet: { scheme?: string } };
  livenessProbe?: { httpGet: { path?: string; scheme?: string } };
}

interface Selector {
  matchLabels?: Record<string, string>;
  matchExpressions?: { values: string[] }[];
}

interface Peer {
  podSelector?: Selector;
  namespaceSelector?: { matchLabels: Record<string, string> };
  ipBlock?: { cidr: string; except?: string[] };
}

interface Manifest {
  kind: string;
  metadata?: { name: string; annotations?: Record<string, string> };
  data?: Record<string, string>;
  images?: Record<string, string>[];
  resources?: string[];
  configMapGenerator?: { name: string; literals?: string[] }[];
  spec?: {
    clusterIP?: string;
    maxReplicas?: number;
    secretName?: string;
    dnsNames?: string[];
    template?: {
      spec?: {
        hostname?: string;
        subdomain?: string;
        containers?: Container[];
        initContainers?: Container[];
        terminationGracePeriodSeconds?: number;
        topologySpreadConstraints?: { topologyKey: string }[];
        volumes?: { name: string; secret?: { secretName: string }; configMap?: { name: string } }[];
      };
    };
    jobTemplate?: { spec: { template: { spec: { containers: Container[] } } } };
    podSelector?: Selector;
    policyTypes?: string[];
    ingress?: { from?: object[] }[];
    egress?: { to?: Peer[]; ports?: { protocol: string; port: number }[] }[];
  };
}

export const manifestsOf = once((text) =>
  parseAllDocuments(text).map((document) => document.toJS() as Manifest),
);

/** Manifests of every installation, which the overlays extend. */
export const kubernetesFiles = (): string[] =>
  files.filter((file) => /^deploy\/kubernetes\/base\/[\w-]+\.yaml$/.test(file));

/** The file with the keys of a process's Secret, without values. */
export const secretExample = (owner: string): string =>
  `deploy/kubernetes/secrets/${nameOf(owner)}.example.env`;

/** The variables in the base's ConfigMap: the shared one (`all`) or one process's. Defaults are commented out. */
export const settingsFile = (name: string): string => `deploy/kubernetes/base/settings/${name}.env`;

export const overlayFile = (overlay: string, name: string): string =>
  `deploy/kubernetes/overlays/${overlay}/settings/${name}.env`;

/** The variables that an overlay adds to a ConfigMap, in its kustomization or in a file of the demo. */
const overlaySettings = (overlay: string, name: string): Record<string, string> => {
  const file = overlayFile(overlay, name);
  if (exists(file)) return parseEnvFile(file);
  const [kustomization] = manifestsOf(`deploy/kubernetes/overlays/${overlay}/kustomization.yaml`);
  const configMap = name === 'all' ? 'fitness' : `fitness-${name}`;
  const { literals = [] } = kustomization?.configMapGenerator?.find((each) => each.name === configMap) ?? {};
  return Object.fromEntries(literals.map((literal) => literal.split(/=(.*)/s).slice(0, 2)));
};

/** `common`: from the shared ConfigMap; `own`: from that of one process; `secrets`: from its Secret, with empty values. */
export const kubernetesEnvironment = (overlay = 'production') => {
  const manifests = kubernetesFiles().flatMap(manifestsOf);
  const settings = (name: string) =>
    new Map(Object.entries({ ...parseEnvFile(settingsFile(name)), ...overlaySettings(overlay, name) }));
  return {
    containers: manifests
      .filter(({ kind, metadata }) => kind === 'Deployment' && metadata?.name !== 'operator')
      .flatMap(({ spec }) => spec?.template?.spec?.containers ?? []),
    common: settings('all'),
    secrets: (owner: string) => new Map(Object.entries(parseEnvFile(secretExample(owner)))),
    own: (owner: string) => settings(nameOf(owner)),
  };
};

/** Where a process's pods may connect: `<process>:<port>`, `data:<port>` for servers, `internet:<port>`. */
export const kubernetesEgress = (owner: string): string[] =>
  kubernetesFiles()
    .flatMap(manifestsOf)
    .filter(({ kind, spec }) => {
      const { matchLabels, matchExpressions = [] } = spec?.podSelector ?? {};
      const selected = [
        matchLabels?.['app.kubernetes.io/name'],
        ...matchExpressions.flatMap(({ values }) => values),
      ];
      return kind === 'NetworkPolicy' && selected.includes(nameOf(owner));
    })
    .flatMap(({ spec }) => spec?.egress ?? [])
    .flatMap(({ to = [], ports = [] }) =>
      to.flatMap((peer) => ports.map(({ port }) => `${nameOfPeer(peer)}:${port}`)),
    );

const nameOfPeer = ({ podSelector, namespaceSelector, ipBlock }: Peer): string => {
  if (ipBlock !== undefined) return ipBlock.cidr === '0.0.0.0/0' ? 'internet' : ipBlock.cidr;
  const pod = podSelector?.matchLabels?.['app.kubernetes.io/name'];
  return pod ?? namespaceSelector?.matchLabels['kubernetes.io/metadata.name'] ?? 'anywhere';
};

/** Name → values; several if the defaults of processes differ. Commented lines are included. */
export const documented = (): Map<string, string[]> => {
  const shown = new Map<string, string[]>();
  for (const line of read(EXAMPLE).split('\n')) {
    const [, name, value] = /^(?:#\s*)?([A-Z][A-Z0-9_]*)=(.*)$/.exec(line) ?? [];
    if (name === undefined || value === undefined) continue;
    const plain = value
      .replace(/\s+#.*$/, '')
      .replace(/^(["'])(.*)\1$/, '$2')
      .trim();
    shown.set(name, [...(shown.get(name) ?? []), plain]);
  }
  return shown;
};

/** The name of a variable, even if its value comes from a file (deploy/entrypoint.sh). */
export const valueName = (name: string): string => name.replace(/_FILE$/, '');

/** Variables that are set by the image or fixed by a container's network. */
export const imageVariables = (): Set<string> => {
  const names = [...read('Dockerfile').matchAll(/^(?:ENV)?\s+([A-Z][A-Z0-9_]*)=/gm)].map(
    ([, name]) => name ?? '',
  );
  return new Set([...names, 'HTTP_PORT', 'GRPC_PORT', 'OPERATIONS_PORT']);
};

/**
 * Variables for the demo data, which production refuses. In a container the gateway uses the defaults and never gets the password
 * of a real administrator.
 */
const OF_DEMO_DATA = ['FIRST_ADMINISTRATOR_USERNAME', 'FIRST_ADMINISTRATOR_PASSWORD'];
export const isOfDemoData = (owner: string, name: string): boolean =>
  owner === 'gateway' && OF_DEMO_DATA.includes(name);

/** All settings, including commented ones with their defaults. */
export const shownSettings = (owner: string): Map<string, string> =>
  new Map(
    ['all', nameOf(owner)].flatMap((file) =>
      [...read(settingsFile(file)).matchAll(/^(?:# )?([A-Z][A-Z0-9_]*)=(.*)$/gm)].map(
        ([, name = '', value = '']): [string, string] => [name, value],
      ),
    ),
  );
