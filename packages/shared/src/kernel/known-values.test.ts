import { setImmediate } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { z } from 'zod';
import { type ConfigError, parseConfig, providerUrl, publicUrl, serviceShape } from './config.ts';
import { DEMO_PASSWORD } from './known-values.ts';
import { redactText } from './log.ts';

const schema = z.object({
  ...serviceShape('example', 8199),
  API_KEY: z.string().optional(),
  ACCESS_KEY_ID: z.string().optional(),
  PRIVATE_KEY: z
    .string()
    .transform((pem) => pem.replaceAll('\\n', '\n'))
    .optional(),
  OAUTH_SECRET: z.string().optional(),
  SECOND_FACTOR_KEY: z.string().optional(),
  PREVIOUS_SECOND_FACTOR_KEY: z.string().optional(),
  CALLS_PER_ADDRESS: z.coerce.number().default(30),
  SWEEP_SECONDS: z.coerce.number().default(0),
  CORS_ORIGINS: publicUrl(z.string().optional(), { allowsLocal: true }),
  RETURN_URL: publicUrl(z.url().optional()),
  CONTACT: z.string().optional(),
  PHONE: z
    .string()
    .transform((value) => value.replace(/^0/, '+98'))
    .optional(),
  PROVIDER_URL: providerUrl('https://provider.example'),
  SANDBOX_URL: z.string().optional(),
  SEED_DEMO: z.stringbool().default(false),
});

const own = {
  PRIVATE_KEY_DIRECTORY: '/keys/private',
  PUBLIC_KEYS_DIRECTORY: '/keys/public',
  AMQP_URL: 'amqps://product:p0b8wq2k@broker.example:5671/fitness',
  MONGODB_URI: 'mongodb://product:9f2c8d41@db.example/?replicaSet=rs0',
  REDIS_URL: 'rediss://product:x7k2m9q4@redis.example:6379',
  PUBLIC_BASE_URL: 'https://api.fitness.example',
};

const read = (env: Record<string, string | undefined>) => parseConfig(schema, { ...own, ...env });
const inProduction = (env: Record<string, string | undefined>) => read({ NODE_ENV: 'production', ...env });

const refusalOf = (env: Record<string, string | undefined>): string => {
  try {
    inProduction(env);
  } catch (error) {
    return (error as ConfigError).message;
  }
  throw new Error('it was accepted');
};

const refused: [name: string, value: string][] = [
  ['API_KEY', DEMO_PASSWORD],
  ['API_KEY', 'sandbox'],
  ['API_KEY', ' Sandbox '],
  ['API_KEY', 'zibal'],
  ['API_KEY', 'ZIBAL'],
  ['API_KEY', 'sandbox@example.com'],
  ['API_KEY', 'administrator@example.com'],
  ['API_KEY', 'minioadmin'],
  ['API_KEY', 'change-me'],
  ['API_KEY', 'please CHANGE_ME now'],
  ['API_KEY', 'replace-this-by-the-key'],
  ['API_KEY', 'change-me-to-32-random-bytes-or-more'],
  ['API_KEY', 'a secret for tests, thirty-two characters or more'],
  ['PHONE', '+989120000001'],
  ['PHONE', '09120000007'],
  ['AMQP_URL', 'amqp://fitness:fitness@rabbitmq:5672'],
  ['AMQP_URL', 'amqp://guest:guest@rabbitmq'],
  ['AMQP_URL', 'amqp://product:guest@rabbitmq'],
  ['AMQP_URL', 'amqp://product:change-me@rabbitmq:5672'],
  ['AMQP_URL', 'amqp://product:%66itness@rabbitmq'],
  ['AMQP_URL', 'amqp://rabbitmq:5672'],
  ['AMQP_URL', 'amqps://:@rabbitmq:5671'],
  ['MONGODB_URI', 'mongodb://root:root@a.example:27017,b.example:27017/?replicaSet=rs0'],
  ['MONGODB_URI', 'mongodb+srv://fitness:change-me@db.example'],
  ['MONGODB_URI', 'mongodb://a.example:27017,b.example:27017/?replicaSet=rs0'],
  ['MONGODB_URI', 'mongodb+srv://db.example'],
  ['MONGODB_URI', 'mongodb://127.0.0.1:27017'],
  ['MONGODB_URI', 'mongodb://product@db.example/?authMechanism=SCRAM-SHA-256'],
  ['REDIS_URL', 'redis://redis:6379'],
  ['REDIS_URL', 'rediss://product@redis:6379'],
  ['AMQP_URL', 'amqps://product@rabbitmq:5671'],
  ['REDIS_URL', 'redis://:sandbox@redis:6379'],
  ['REDIS_URL', 'rediss://default:replace-me@redis:6379'],
  ['PROVIDER_URL', 'http://sandbox.localhost:8090/zibal'],
  ['PROVIDER_URL', 'http://127.0.0.1:8090/kavenegar'],
  ['PROVIDER_URL', 'http://10.0.0.7:8090/kavenegar'],
  ['PROVIDER_URL', 'https://127.0.0.1/kavenegar'],
  ['PROVIDER_URL', 'https://[::1]:8090'],
  ['PROVIDER_URL', 'https://sandbox:8090'],
  ['PROVIDER_URL', 'https://sandbox.provider.example'],
  ['OAUTH_SECRET', 'a'.repeat(32)],
  ['OAUTH_SECRET', 'abcdefghijklmnopqrstuvwxyz012345'],
  ['OAUTH_SECRET', 'this-is-our-production-oauth-secret-2026'],
  ['SECOND_FACTOR_KEY', 'FitnessPlatformKeyForSecondFactors1'],
  ['PREVIOUS_SECOND_FACTOR_KEY', 'b'.repeat(32)],
  ['OTEL_EXPORTER_OTLP_ENDPOINT', 'http://collector.monitoring:4318'],
  ['OTEL_EXPORTER_OTLP_ENDPOINT', 'http://10.0.0.7:4318'],
  ['OTEL_EXPORTER_OTLP_ENDPOINT', 'http://[fd00::7]:4318'],
  ['API_KEY', '0000000000'],
  ['REDIS_URL', 'redis://:aaaaaaaaaaaaaaaa@redis:6379'],
  ['MONGODB_URI', 'mongodb://product:12345678@db.example'],
  ['PUBLIC_BASE_URL', 'http://api.fitness.example'],
  ['PUBLIC_BASE_URL', 'http://127.0.0.1:8080'],
  ['PUBLIC_BASE_URL', 'https://localhost'],
  ['PUBLIC_BASE_URL', 'https://localhost.'],
  ['PUBLIC_BASE_URL', 'https://[::1]:8443'],
  ['PUBLIC_BASE_URL', 'https://api.example.com'],
  ['PUBLIC_BASE_URL', 'https://EXAMPLE.org/'],
  ['PUBLIC_BASE_URL', 'https://example.com.'],
  ['PUBLIC_BASE_URL', 'https://api.fitness.example/v1'],
  ['PUBLIC_BASE_URL', 'ftp://api.fitness.example'],
  ['CORS_ORIGINS', '*'],
  ['CORS_ORIGINS', 'https://app.fitness.example,http://app.fitness.example'],
  ['CORS_ORIGINS', 'https://app.fitness.example, https://app.example.com'],
  ['RETURN_URL', 'http://app.fitness.example/paid'],
  ['RETURN_URL', 'https://localhost/paid'],
  ['CONTACT', 'mailto:security@example.com'],
  ['PROVIDER_URL', 'https://provider.example.net/v1'],
  ['SANDBOX_URL', 'https://anywhere.example'],
  ['SEED_DEMO', 'yes'],
];

describe('in production', () => {
  test.each(refused)('%s=%s is refused by name, without the value', (name, value) => {
    const refusal = refusalOf({ [name]: value });
    expect(refusal).toMatch(new RegExp(`^Wrong configuration: ${name}: [^\\n]+$`));
    expect(refusal).not.toContain(value);
  });

  test('all refused and invalid variables are named in one line', () => {
    const refusal = refusalOf({ HTTP_PORT: 'eighty', API_KEY: 'change-me', REDIS_URL: 'redis://a:a@redis' });
    for (const name of ['HTTP_PORT', 'API_KEY', 'REDIS_URL']) expect(refusal).toContain(`${name}: `);
    expect(refusal).not.toMatch(/\n|change-me/);
  });

  test('two equal secrets are refused, and both variables are named', () => {
    const value = 'Vd3kq0rXw8nZtY5mBf7pLc2sJh9gUe4a';
    const refusal = refusalOf({ OAUTH_SECRET: value, API_KEY: value });
    expect(refusal).toMatch(/^Wrong configuration: OAUTH_SECRET: must not be equal to API_KEY [^\n]+$/);
    expect(() => inProduction({ OAUTH_SECRET: value, API_KEY: `${value}b` })).not.toThrow();
  });

  test('the public address has no default in production', () => {
    expect(refusalOf({ PUBLIC_BASE_URL: undefined })).toContain('PUBLIC_BASE_URL: ');
  });

  test.each(['AMQP_URL', 'MONGODB_URI', 'REDIS_URL'])(
    'a missing %s is refused, because its default has no credentials',
    (name) => {
      expect(refusalOf({ [name]: undefined })).toContain(`${name}: `);
    },
  );

  test.each([
    ['API_KEY', 'sandbox-9f2c8d41'],
    ['PHONE', '+989121234567'],
    ['REDIS_URL', 'redis://:x7k2m9q4@redis:6379'],
    ['MONGODB_URI', 'mongodb://product:9f2c%408d41@a.example,b.example/?replicaSet=rs0'],
    ['MONGODB_URI', 'mongodb://db.example/?tls=true&authMechanism=MONGODB-X509'],
    ['MONGODB_URI', 'mongodb+srv://db.example/?authSource=%24external&authMechanism=MONGODB-AWS'],
    [
      'MONGODB_URI',
      'mongodb+srv://db.example/?authMechanism=MONGODB-OIDC&authMechanismProperties=ENVIRONMENT:k8s',
    ],
    ['MONGODB_URI', 'mongodb://wallet%40FIT.EXAMPLE@db.example/?authMechanism=GSSAPI'],
    ['PREVIOUS_SECOND_FACTOR_KEY', 'k7 9w z2 the key that we had before it'],
    ['API_KEY', 'a-provider-may-choose-a-readable-key'],
    ['OTEL_EXPORTER_OTLP_ENDPOINT', 'https://collector.monitoring:4318'],
    ['OTEL_EXPORTER_OTLP_ENDPOINT', 'http://127.0.0.1:4318'],
    ['OTEL_EXPORTER_OTLP_ENDPOINT', 'http://localhost:4318'],
    ['PROVIDER_URL', 'https://gateway.provider.example/v1/'],
    ['OAUTH_SECRET', 'Vd3kq0rXw8nZtY5mBf7pLc2sJh9gUe4a'],
    ['PUBLIC_BASE_URL', 'https://api.fitness.example:8443/'],
    ['PUBLIC_BASE_URL', 'https://example.company.ir'],
    ['CORS_ORIGINS', 'https://app.fitness.example,http://localhost,https://localhost:8100'],
    ['RETURN_URL', 'com.fitness.app:/paid'],
    ['CONTACT', 'mailto:security@example.communication.ir'],
    ['SEED_DEMO', '0'],
    ['SANDBOX_URL', ''],
  ])('%s=%s is accepted in production', (name, value) => {
    expect(() => inProduction({ [name]: value })).not.toThrow();
  });
});

describe('a warning', () => {
  const warnings: string[] = [];
  const note = ({ name, message }: Error): void => void warnings.push(`${name}: ${message}`);
  beforeAll(() => void process.on('warning', note));
  afterAll(() => void process.off('warning', note));

  /** What is emitted at the end of the tick. */
  const warningsOf = async (env: Record<string, string>): Promise<string[]> => {
    read(env);
    await setImmediate();
    return warnings.splice(0);
  };
  const doubtful = { CALLS_PER_ADDRESS: '30000', OTEL_EXPORTER_OTLP_ENDPOINT: 'http://collector:4318' };

  test('production accepts a limit of a thousand times its default, and a neighbor without TLS, with a warning', async () => {
    expect(await warningsOf({ NODE_ENV: 'production', ...doubtful })).toEqual([
      'ConfigWarning: OTEL_EXPORTER_OTLP_ENDPOINT: without TLS: this network must not leave the machine',
      'ConfigWarning: CALLS_PER_ADDRESS: 1000 times its default',
    ]);
  });

  test('there is no warning for other values, and none outside production', async () => {
    const usual = { CALLS_PER_ADDRESS: '29999', SWEEP_SECONDS: '9000' };
    expect(await warningsOf({ NODE_ENV: 'production', ...usual })).toEqual([]);
    expect(await warningsOf(doubtful)).toEqual([]);
  });
});

test.each(refused)('outside production, %s=%s is accepted', (name, value) => {
  for (const environment of [undefined, 'development', 'test'])
    expect(() => read({ NODE_ENV: environment, [name]: value })).not.toThrow();
});

test('the address of a provider loses the slash at its end', () => {
  expect(read({ PROVIDER_URL: 'https://provider.example/v2//' }).PROVIDER_URL).toBe(
    'https://provider.example/v2',
  );
  expect(read({}).PROVIDER_URL).toBe('https://provider.example');
});

describe('what the configuration tells the log', () => {
  test.each([
    ['API_KEY', 'kept-out-of-logs-1', ['kept-out-of-logs-1']],
    ['ACCESS_KEY_ID', 'kept-out-of-logs-2', ['kept-out-of-logs-2']],
    ['PRIVATE_KEY', 'begin\\nkept-out-of-logs-3', ['kept-out-of-logs-3']],
    ['REDIS_URL', 'redis://:kept-out-of-logs%404@redis:6379', ['kept-out-of-logs@4', 'kept-out-of-logs%404']],
    [
      'OTEL_EXPORTER_OTLP_HEADERS',
      'a=kept-out-of-logs-5,b = Bearer%20kept-out-of-logs-6',
      ['kept-out-of-logs-5', 'kept-out-of-logs-6'],
    ],
  ])('the secrets in %s=%s are hidden from the log', (name, value, secrets) => {
    read({ [name]: value });
    for (const secret of secrets) expect(redactText(`said ${secret} here`)).toBe('said [redacted] here');
  });

  test('the secrets of an invalid configuration are hidden, too', () => {
    expect(() => read({ API_KEY: 'kept-out-of-logs-7', HTTP_PORT: 'eighty' })).toThrow('HTTP_PORT');
    expect(redactText('kept-out-of-logs-7')).toBe('[redacted]');
  });

  test('other values, and an address without a password, stay readable', () => {
    const text = 'mongodb://db.fitness.example:27017 and fitness_of_this_test';
    read({ MONGODB_URI: 'mongodb://db.fitness.example:27017', MONGODB_DATABASE: 'fitness_of_this_test' });
    expect(redactText(text)).toBe(text);
  });
});
