/**
 * Configuration is read from the environment and validated once, at startup. An invalid value ends the process
 * with exit code 78 (EX_CONFIG) and one line that names the variable. In production, so does a value that
 * known-values.ts refuses; a doubtful one only causes a warning on stderr.
 */
import { isIP } from 'node:net';
import { z } from 'zod';
import {
  doubtfulInProduction,
  isSecretName,
  type PublicUse,
  refusedInProduction,
  secretsIn,
} from './known-values.ts';
import { hideSecrets } from './log.ts';

export class ConfigError extends Error {
  override name = 'ConfigError';
  /** The variables that were read, by name. */
  readonly shape: z.ZodRawShape;
  constructor(message?: string, shape: z.ZodRawShape = {}) {
    super(message);
    this.shape = shape;
  }
}

/**
 * Reads `schema` from `env`, treating an empty string as unset, and hides its secrets from the log. Throws
 * {@link ConfigError}, which names each bad variable.
 */
export const parseConfig = <Schema extends z.ZodObject>(
  schema: Schema,
  env: Record<string, string | undefined>,
): z.output<Schema> => {
  const values = Object.fromEntries(
    Object.entries(env).filter(([, value]) => value !== undefined && value !== ''),
  );
  const parsed = schema.safeParse(values);
  // The output is read too, because it contains the defaults and the normalized values.
  const read = [values, parsed.data ?? {}];
  hideSecrets(read.flatMap((each) => secretsOf(schema, each)));
  const invalid = parsed.error?.issues.map((issue) => `${issue.path.join('.')}: ${issue.message}`) ?? [];
  const isProduction = values.NODE_ENV === 'production';
  const problems = [...invalid, ...(isProduction ? refusals(schema, read) : [])];
  if (!parsed.success || problems.length > 0)
    throw new ConfigError(`Wrong configuration: ${problems.join('; ')}`, schema.shape);
  if (isProduction) warnOfDoubts(schema, parsed.data);
  return parsed.data;
};

const warnOfDoubts = (schema: z.ZodObject, config: Record<string, unknown>): void => {
  for (const [name, field] of Object.entries(schema.shape)) {
    const usual = field instanceof z.ZodDefault ? field.def.defaultValue : undefined;
    const doubt = doubtfulInProduction(publicUrls.get(field), config[name], usual);
    if (doubt !== undefined) process.emitWarning(`${name}: ${doubt}`, 'ConfigWarning');
  }
};

const secretsOf = (schema: z.ZodObject, values: Record<string, unknown>): string[] =>
  Object.keys(schema.shape).flatMap((name) => {
    const value = values[name];
    return typeof value === 'string' ? secretsIn(name, value) : [];
  });

const providerUrls = z.registry();

const publicUrls = z.registry<PublicUse>();
/**
 * Marks one or more addresses that are used outside this machine. In production they must use TLS and must not be example
 * addresses.
 */
export const publicUrl = <Schema extends z.ZodType>(schema: Schema, use: PublicUse = {}): Schema => {
  publicUrls.add(schema, use);
  return schema;
};

const refusals = (schema: z.ZodObject, values: readonly Record<string, unknown>[]): string[] => {
  /** Variables by secret. No two secrets may be equal, because each belongs to a different part of the product. */
  const secrets = new Map<unknown, string>();
  return Object.entries(schema.shape).flatMap(([name, field]) => {
    const variable = { name, isProvider: providerUrls.has(field), publicUse: publicUrls.get(field) };
    const reason = values
      .map((each) => refusedInProduction(variable, each[name]))
      .find((each) => each !== undefined);
    if (reason !== undefined) return [`${name}: ${reason}`];
    const secret = isSecretName(name) ? values[0]?.[name] : undefined;
    const equal = secret === undefined ? undefined : secrets.get(secret);
    if (equal !== undefined) return [`${name}: must not be equal to ${equal} in production`];
    secrets.set(secret, name);
    return [];
  });
};

const port = z.coerce.number().int().min(0).max(65_535);
/** `1`, `true`, `yes`, `on` and their opposites. */
export const flag = z.stringbool();
export const url = z.url();

interface Replica {
  /** Without the brackets of an IPv6 address. */
  host: string;
  /** The scheme, which all elements of a list must share. */
  kind?: string;
  /** The normalized address. */
  text: string;
}

/**
 * Addresses of the replicas of a process: one DNS name with a record for each replica, or IP addresses of one family,
 * separated by commas. A list of names would need a custom resolver in gRPC.
 */
const replicas = (form: string, read: (element: string) => Replica | undefined) =>
  z.string().transform((value, context) => {
    const elements = value.split(',').map((element) => element.trim());
    const refuse = (message: string): never => {
      context.addIssue({ code: 'custom', message });
      return z.NEVER;
    };
    const accepted: Replica[] = [];
    for (const [index, element] of elements.entries()) {
      const replica = read(element);
      const place = elements.length === 1 ? '' : `element ${index + 1} `;
      if (replica === undefined) return refuse(`${place}must be ${form}`);
      if (elements.length > 1 && isIP(replica.host) === 0)
        return refuse(`${place}must have an IP address: a list of addresses must not contain names`);
      if (accepted.some(({ text }) => text === replica.text)) return refuse(`${place}appears twice`);
      accepted.push(replica);
    }
    if (new Set(accepted.map(({ host, kind }) => `${isIP(host)} ${kind}`)).size > 1)
      return refuse('all elements must have the same address family and the same scheme');
    return accepted.map(({ text }) => text);
  });

const MAX_PORT = 65_535;
const HOST_AND_PORT = /^(?:\[([^\]\s]+)\]|([^:\s/]+)):(\d{1,5})$/;

const grpcReplicas = replicas('host:port', (text) => {
  const [, bracketed, host = bracketed, port] = HOST_AND_PORT.exec(text) ?? [];
  const isValid =
    host !== undefined && Number(port) <= MAX_PORT && (bracketed === undefined || isIP(host) === 6);
  return isValid ? { host, text } : undefined;
}).transform((elements) => elements.join(','));

/** Origins of the replicas of a service. */
export const httpReplicas = replicas('an origin such as http://host:port', (element) => {
  if (!URL.canParse(element)) return undefined;
  const { origin, hostname, protocol, href } = new URL(element);
  const isOrigin = /^https?:$/.test(protocol) && href === `${origin}/`;
  return isOrigin ? { host: hostname.replace(/^\[|\]$/g, ''), kind: protocol, text: origin } : undefined;
});

const urlWithoutSlash = url.transform((value) => value.replace(/\/+$/, ''));
/** The address of an external provider, without a trailing slash. In production it must not be the sandbox's. */
export const providerUrl = (defaultUrl: string) => urlWithoutSlash.default(defaultUrl).register(providerUrls);
/** The optional address of an email relay. In production it must not be the sandbox's. */
export const smtpUrl = z
  .url({ protocol: /^smtps?$/ })
  .optional()
  .register(providerUrls);
export const percent = z.coerce.number().min(0).max(100);
export const seconds = z.coerce.number().int().positive();
/** A deadline of a call. */
export const milliseconds = z.coerce.number().int().min(50).max(60_000);
/** The default of `LIST_CACHE_MIB`. */
export const LIST_CACHE_MIB = 64;
/** Memory for cached lists in MiB; 0 turns the cache off. */
export const listCacheMib = z.coerce.number().int().min(0).default(LIST_CACHE_MIB);

export const redisUrl = z
  .url({ protocol: /^rediss?$/, error: 'must be the redis:// or rediss:// address of one server' })
  .default('redis://127.0.0.1:6379');

/**
 * The standard variables of OpenTelemetry, whose packages also read `OTEL_EXPORTER_OTLP_TIMEOUT`, `_COMPRESSION` and `_CERTIFICATE`:
 * https://opentelemetry.io/docs/specs/otel/configuration/sdk-environment-variables/
 */
const telemetryShape = {
  /**
   * Collector for traces and logs by OTLP over HTTP in JSON, such as `https://collector.monitoring:4318`. In
   * production it needs TLS, unless it is on this machine. Default: none.
   */
  OTEL_EXPORTER_OTLP_ENDPOINT: publicUrl(urlWithoutSlash.optional(), {
    allowsLocal: true,
    allowsNeighbor: true,
  }),
  /** Headers for the collector: `name=value` pairs, separated by commas. */
  OTEL_EXPORTER_OTLP_HEADERS: z.string().optional(),
  /** Default: the name of the process. */
  OTEL_SERVICE_NAME: z.string().optional(),
  /** Which traces are recorded. The gateway decides for each request, whatever its client says. */
  OTEL_TRACES_SAMPLER: z
    .enum([
      'always_on',
      'always_off',
      'traceidratio',
      'parentbased_always_on',
      'parentbased_always_off',
      'parentbased_traceidratio',
    ])
    .default('parentbased_always_on'),
  /** The fraction of traces that a ratio sampler records, from 0 to 1. */
  OTEL_TRACES_SAMPLER_ARG: z.coerce.number().min(0).max(1).default(1),
};

export type TelemetryConfig = z.output<z.ZodObject<typeof telemetryShape>>;

// Read once, because deadlines are constants of their modules. Each process validates it with the rest of its configuration.
const deadlineFactor = Number(process.env.DEADLINE_FACTOR || 1);

/** The deadline of a call or a transaction, in milliseconds, multiplied by `DEADLINE_FACTOR`. */
export const scaledDeadline = (deadlineMs: number): number => deadlineMs * deadlineFactor;

/** Variables of every process. */
export const commonShape = (httpPort: number) => ({
  NODE_ENV: z.enum(['development', 'test', 'production']).default('development'),
  LOG_LEVEL: z.enum(['fatal', 'error', 'warn', 'info', 'debug', 'trace', 'silent']).default('info'),
  HOST: z.string().default('127.0.0.1'),
  HTTP_PORT: port.default(httpPort),
  /** The private key of this process, which no other process may read: `key.json`. */
  PRIVATE_KEY_DIRECTORY: z.string('is missing (npm run keys -- create makes it)'),
  /** The public keys of all processes: `<process>.json`. */
  PUBLIC_KEYS_DIRECTORY: z.string('is missing (npm run keys -- create makes it)'),
  /** `tls.crt`, `tls.key` and `ca.crt`: turns on mutual TLS between the processes. */
  TLS_DIRECTORY: z.string().optional(),
  /**
   * How long a stopping process still serves new requests. Load balancers need this time to notice that it is
   * not ready.
   */
  DRAIN_MS: z.coerce.number().int().min(0).max(600_000).default(0),
  /** How long a shutdown may take, DRAIN_MS included. */
  SHUTDOWN_GRACE_MS: z.coerce.number().int().min(3_000).max(3_600_000).default(10_000),
  /**
   * Multiplies the deadlines of calls to other processes and providers, and of transactions. For tests on busy machines, where
   * a deadline that is not their subject would fail them.
   */
  DEADLINE_FACTOR: z.coerce.number().min(1).max(100).default(1),
  ...telemetryShape,
  /** Demo data, limits for demonstrations, and a clock that the sandbox advances. */
  SEED_DEMO: flag.default(false),
  /** The origin of the sandbox. Without it the demo data has no payments, and nothing advances the clock. */
  SANDBOX_URL: z
    .url()
    .transform((value) => value.replace(/\/+$/, ''))
    .optional(),
  /** The origin that clients use, for links in responses; without a trailing slash. */
  PUBLIC_BASE_URL: publicUrl(urlWithoutSlash.default('http://127.0.0.1:8080'), { isOrigin: true }),
});

/** Variables of every service. */
export const serviceShape = (service: string, httpPort: number) => ({
  ...commonShape(httpPort),
  GRPC_PORT: port.default(httpPort + 1000),
  MONGODB_URI: z
    .string()
    .startsWith('mongodb', 'must be a mongodb:// address')
    .default('mongodb://127.0.0.1:27017'),
  MONGODB_DATABASE: z
    .string()
    // MongoDB allows 63 characters; the database of the audit log's seals has a suffix of 12.
    .regex(/^[\w-]{1,51}$/)
    .default(`fitness_${service.replaceAll('-', '_')}`),
  REDIS_URL: redisUrl,
  AMQP_URL: z.string().startsWith('amqp', 'must be an amqp:// address').default('amqp://127.0.0.1:5672'),
  /**
   * Who declares the exchanges and queues: the processes or an operator. If an operator does, the processes need no
   * permission for it.
   */
  AMQP_TOPOLOGY: z.enum(['declared', 'provisioned']).default('declared'),
  EVENTS_NAMESPACE: z
    .string()
    .regex(/^[a-z0-9-]{1,40}$/)
    .default('fitness'),
});

/**
 * The database of a service, for commands that work on several databases: `<SERVICE>_MONGODB_DATABASE`, or the
 * default. Throws when `MONGODB_DATABASE` differs, because that variable does not name its service.
 */
export const databaseOf = (service: string, env: Record<string, string | undefined>): string => {
  const name = service.replaceAll('-', '_');
  const variable = `${name.toUpperCase()}_MONGODB_DATABASE`;
  const database = env[variable] || `fitness_${name}`;
  const other = env.MONGODB_DATABASE || database;
  if (other !== database) {
    throw new Error(
      `MONGODB_DATABASE is ${other}, but the database of ${service} is ${database}: unset it, or set ${variable}`,
    );
  }
  return database;
};

/** The gRPC addresses of the services, each in the form of `replicas`. The defaults are for one machine. */
export const grpcAddresses = {
  IDENTITY_GRPC_ADDRESS: grpcReplicas.default('127.0.0.1:9101'),
  WALLET_GRPC_ADDRESS: grpcReplicas.default('127.0.0.1:9102'),
  GYMS_GRPC_ADDRESS: grpcReplicas.default('127.0.0.1:9103'),
  CONTENT_GRPC_ADDRESS: grpcReplicas.default('127.0.0.1:9104'),
  MEDIA_GRPC_ADDRESS: grpcReplicas.default('127.0.0.1:9105'),
  STORE_BILLING_GRPC_ADDRESS: grpcReplicas.default('127.0.0.1:9106'),
} as const;

export const DEFAULT_JOURNALS = '.data/journal';

export const journalShape = {
  /**
   * The folder of the journals, which all replicas share. A restore of the databases must not replace it.
   * In production a configured folder is not created, because its volume must be mounted.
   */
  JOURNAL_DIRECTORY: z.string().min(1).default(DEFAULT_JOURNALS),
};

export interface JournalConfig {
  NODE_ENV: string;
  JOURNAL_DIRECTORY: string;
}
