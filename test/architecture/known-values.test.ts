/** No production process runs with a publicly known value, and no deployment file contains one (ADR 33). */

import { isSecretName } from '@fitness/shared/kernel/known-values.ts';
import { createLog } from '@fitness/shared/kernel/log.ts';
import { beforeAll, describe, expect, test } from '@jest/globals';
import demo from '../../packages/demo/src/data.json' with { type: 'json' };
import { productEnvironment } from '../../sandbox/src/providers/index.ts';
import { type Configurations, loadConfigurations, owners } from './configurations.ts';
import {
  composeEnvironment,
  composeServices,
  interpolate,
  isSecret,
  kubernetesEnvironment,
  MissingVariable,
  manifestsOf,
  parseEnvFile,
  secretExample,
} from './deployments.ts';
import { files, read } from './support.ts';

type Environment = Record<string, string | undefined>;

let configurations: Configurations;
beforeAll(async () => {
  configurations = await loadConfigurations();
});

/** Values that a real deployment might have. */
const secrets = {
  PRIVATE_KEY_DIRECTORY: '/keys/private',
  PUBLIC_KEYS_DIRECTORY: '/keys/public',
  OAUTH_SECRET: 'Vd3kq0rXw8nZtY5mBf7pLc2sJh9gUe4a',
  SECOND_FACTOR_KEY: 'hT6zR1vKq9sWx4mCj7bNf2dYpL8gAe3u',
  AMQP_URL: 'amqps://product:p0b8wq2k@broker.example:5671',
  MONGODB_URI: 'mongodb://product:9f2c8d41@db.example/?replicaSet=rs0',
  REDIS_URL: 'rediss://product:x7k2m9q4@redis.example:6379',
  KAVENEGAR_API_KEY: '5A6B7C8D9E',
  ZIBAL_MERCHANT: '5f1d7c8e9a0b',
  CAFEBAZAAR_API_SECRET: 'eyJhbGciOi',
  APP_NAME: 'Fit',
  APP_DEVELOPER: 'Fit Ltd.',
  MEDIA_S3_BUCKET: 'fit-files',
};
const PUBLIC_BASE_URL = 'https://api.fitness.example';
const production: Environment = { NODE_ENV: 'production', PUBLIC_BASE_URL, ...secrets };

const knownValues = [
  'demo-password-1',
  'sandbox',
  'sandbox@example.com',
  'Demo Fitness',
  'Demo Developer',
  'zibal',
  'minioadmin',
  'administrator@example.com',
  '+989120000001',
  ...Object.values(demo.people).map(({ phone }) => phone),
  'change-me',
  'change-me-to-32-random-bytes-or-more',
  'a secret for tests, thirty-two characters or more',
  'amqp://127.0.0.1:5672',
  'mongodb://127.0.0.1:27017',
  'redis://127.0.0.1:6379',
  'amqp://fitness:fitness@rabbitmq:5672',
  'amqp://guest:guest@rabbitmq:5672',
  'amqp://fitness:change-me@rabbitmq:5672',
  'redis://:change-me@redis:6379',
  'https://api.example.com',
  'mailto:security@example.com',
  'administrator@example.org',
  'smtp://sandbox:sandbox@mail.fitness.example',
  'mongodb://fitness:fitness@mongodb-0,mongodb-1/?replicaSet=rs0',
];
const ofSandbox = [
  'http://sandbox.localhost:8090/zibal',
  'http://127.0.0.1:8090/kavenegar',
  'http://sandbox:8090',
];

const mailOfSandbox = ['smtp://sandbox:8089', 'smtps://127.0.0.1:465'];

/** The values that the variable might have outside production. */
const knownFor = ({ name, field }: Configurations['variables'][number]): string[] => {
  const standard = field.safeParse(undefined).data;
  const isProvider = typeof standard === 'string' && standard.startsWith('https://');
  // Only a phone number has several spellings.
  const spellings = name.endsWith('_PHONE') ? ['09120000001', '00989120000001', '+98 912 000 0001'] : [];
  return [
    ...knownValues,
    ...spellings,
    ...(isProvider ? ofSandbox : []),
    ...(name === 'SMTP_URL' ? mailOfSandbox : []),
  ].filter((value) => field.safeParse(value).success);
};

const providers = productEnvironment('http://sandbox');
const PROVIDERS: ReadonlySet<string> = new Set(
  Object.keys(providers).filter((name) => providers[name]?.startsWith('http://sandbox/')),
);

const refusalOf = (owner: string, env: Environment): string => {
  try {
    configurations.readConfig(owner, env);
  } catch (error) {
    expect((error as Error).name).toBe('ConfigError');
    return (error as Error).message;
  }
  return '';
};

describe.each(owners)('%s in production', (owner) => {
  test('a process accepts private values in production', () => {
    expect(refusalOf(owner, production)).toBe('');
  });

  test('a process rejects each publicly known value in production, and names the variable', () => {
    const wrong: string[] = [];
    let tried = 0;
    for (const variable of configurations.variables.filter(({ reader }) => reader === owner)) {
      for (const value of knownFor(variable)) {
        const refusal = refusalOf(owner, { ...production, [variable.name]: value });
        tried += 1;
        if (!refusal.includes(`${variable.name}: `)) wrong.push(`${variable.name}=${value} is accepted`);
        if (refusal.includes(value)) wrong.push(`${variable.name}: the value is printed`);
      }
    }
    expect(wrong).toEqual([]);
    expect(tried).toBeGreaterThan(0);
  });

  test('the known values include one for each secret and provider address', () => {
    const untried = configurations.variables
      .filter(({ reader, name }) => reader === owner && (isSecret(name) || PROVIDERS.has(name)))
      .filter((variable) => {
        const values = knownFor(variable);
        return (
          values.length === 0 || (PROVIDERS.has(variable.name) && !ofSandbox.every((v) => values.includes(v)))
        );
      });
    expect(untried.map(({ name }) => name)).toEqual([]);
  });

  test('a process rejects equal secrets and guessable ones', () => {
    const own = configurations.variables
      .filter(({ reader, name }) => reader === owner && isSecretName(name))
      .map(({ name }) => name);
    const equal = 'Wq7rT2vXy9kLm4nBs6dF8gHj3pZc5aQe';
    const [first, ...others] = own.filter((name) => !name.endsWith('PRIVATE_KEY'));
    for (const name of others) {
      const refusal = refusalOf(owner, { ...production, [first ?? '']: equal, [name]: equal });
      expect(refusal).toContain('must not be equal');
    }
    for (const name of own) {
      expect(refusalOf(owner, { ...production, [name]: 'a'.repeat(32) })).toContain(`${name}: `);
    }
  });

  test('a process rejects the demo data in production', () => {
    const readsIt = configurations.variables.some(
      ({ reader, name }) => reader === owner && name === 'SEED_DEMO',
    );
    const refusal = refusalOf(owner, { ...production, SEED_DEMO: '1' });
    expect(refusal.includes('SEED_DEMO: ')).toBe(readsIt);
  });
});

/** Values with this secret in each form that a variable may have. */
const formsOf = (secret: string): string[] => {
  const encoded = encodeURIComponent(secret);
  const schemes = ['mongodb', 'amqps', 'rediss', 'smtps'];
  return [secret, ...schemes.map((scheme) => `${scheme}://fitness:${encoded}@server`), `x-token=${encoded}`];
};

/** Everything that a log prints about a failed call with this secret. */
const printedWith = (secret: string): string => {
  const lines: string[] = [];
  const log = createLog({ service: 'test', destination: { write: (line) => void lines.push(line) } });
  const address = `https://provider.example/v1/${encodeURIComponent(secret)}/send`;
  const error = new Error(`fetch ${address} failed`, { cause: new Error(secret) });
  log.error({ err: error, text: secret, nested: [{ address: new URL(address) }] }, `sent ${secret}`);
  log.child({ text: secret }).info(JSON.stringify({ text: secret }));
  log.info(new URLSearchParams({ text: secret }).toString());
  return lines.join('');
};

describe.each(owners)('the log of %s', (owner) => {
  test('no secret of the configuration appears in a log line', () => {
    const secretFields = configurations.variables.filter(
      ({ reader, name }) => reader === owner && isSecret(name) && !name.endsWith('PHONE'),
    );
    // Every encoding leaves the name unchanged.
    const secretOf = (name: string): string => `"/ +&é${owner}.${name}`;
    const env = secretFields.map(({ name, field }) => [
      name,
      formsOf(secretOf(name)).find((value) => field.safeParse(value).success),
    ]);
    refusalOf(owner, { ...production, ...Object.fromEntries(env) });
    const names = secretFields.map(({ name }) => name);
    expect(names).toContain('REDIS_URL');
    expect(names.filter((name) => printedWith(secretOf(name)).includes(name))).toEqual([]);
  });
});

describe('docker-compose.yml', () => {
  const required = {
    PUBLIC_BASE_URL,
    ZIBAL_MERCHANT: secrets.ZIBAL_MERCHANT,
    APP_NAME: secrets.APP_NAME,
    APP_DEVELOPER: secrets.APP_DEVELOPER,
  };
  const { KAVENEGAR_API_KEY, CAFEBAZAAR_API_SECRET } = secrets;
  const env = { ...required, KAVENEGAR_API_KEY, CAFEBAZAAR_API_SECRET };
  /** Values that are generated in files. */
  const generated = {
    OAUTH_SECRET: secrets.OAUTH_SECRET,
    SECOND_FACTOR_KEY: secrets.SECOND_FACTOR_KEY,
    AMQP_URL: secrets.AMQP_URL,
    MONGODB_URI: secrets.MONGODB_URI,
    REDIS_URL: secrets.REDIS_URL,
  };
  const demo = parseEnvFile('deploy/demo.env');

  /** The variables that the file requires but `env` lacks. */
  const missingWith = (env: Environment): string[] => {
    const missing = new Set<string>();
    for (const { environment = {} } of Object.values(composeServices())) {
      for (const value of Object.values(environment)) {
        try {
          interpolate(String(value ?? ''), env);
        } catch (error) {
          if (!(error instanceof MissingVariable)) throw error;
          missing.add(error.variable);
        }
      }
    }
    return [...missing].sort();
  };

  test('docker-compose.yml requires exactly the variables without a default', () => {
    expect(missingWith({})).toEqual(Object.keys(required).sort());
    expect(missingWith(required)).toEqual([]);
    expect(missingWith(demo)).toEqual([]);
  });

  test('docker-compose.yml has no default for a secret', () => {
    const defaults = [...read('docker-compose.yml').matchAll(/\$\{([A-Z0-9_]+):?-([^}]*)\}/g)];
    expect(defaults.length).toBeGreaterThan(0);
    const secret = defaults.filter(([, name = '', value]) => isSecret(name) && value !== '');
    expect(secret.map(([text]) => text)).toEqual([]);
  });

  test.each(owners)('docker-compose.yml is a production configuration of %s', (owner) => {
    const container: Environment = { ...composeEnvironment(owner, env), ...generated };
    expect(container.NODE_ENV).toBe('production');
    expect(refusalOf(owner, container)).toBe('');
  });

  test.each(owners)(
    'deploy/demo.env makes a demo configuration of %s whose public values production rejects',
    (owner) => {
      const container: Environment = { ...composeEnvironment(owner, demo), ...generated };
      expect(container.NODE_ENV).toBe('development');
      expect(refusalOf(owner, container)).toBe('');
      const refusal = refusalOf(owner, { ...container, NODE_ENV: 'production', SEED_DEMO: '0' });
      // Other secrets are generated at the first start, as in production, and have no public value.
      const refused: Environment = {
        'services/identity': 'KAVENEGAR_API_KEY: ',
        'services/wallet': 'ZIBAL_MERCHANT: ',
        'services/store-billing': 'CAFEBAZAAR_API_SECRET: ',
        gateway: 'APP_NAME: ',
      };
      expect(refusal).toContain(refused[owner] ?? '');
      expect(refusal).toContain('PUBLIC_BASE_URL: ');
      expect(refusal).toContain('SANDBOX_URL: ');
      if (refused[owner] === undefined) expect(refusal.split('; ')).toHaveLength(2);
    },
  );

  test('docker-compose.yml has other volumes than the demo, whose database has the demo accounts', () => {
    expect(demo.COMPOSE_PROJECT_NAME).toBeDefined();
    expect(read('docker-compose.yml')).not.toMatch(new RegExp(`^name: ${demo.COMPOSE_PROJECT_NAME}$`, 'm'));
  });

  test('docker-compose.yml starts the sandbox only in the demo, and never fixes its NODE_ENV', () => {
    const { sandbox } = composeServices();
    expect(sandbox?.profiles).toEqual([demo.COMPOSE_PROFILES]);
    expect(composeEnvironment('sandbox', {}).NODE_ENV).toBe('production');
    expect(composeEnvironment('sandbox', demo).NODE_ENV).toBe('development');
  });
});

describe('deploy/kubernetes', () => {
  test.each(owners)(
    'the manifests are a production configuration of %s once secrets, address and empty values are set',
    (owner) => {
      const { common, own } = kubernetesEnvironment();
      const ofSecret = Object.keys(parseEnvFile(secretExample(owner)));
      const filledIn = Object.entries(secrets).filter(
        ([name]) => ofSecret.includes(name) || own(owner).get(name) === '',
      );
      const shipped: Environment = Object.fromEntries([...common, ...own(owner), ...filledIn]);
      expect(shipped.NODE_ENV).toBe('production');
      expect(refusalOf(owner, shipped)).toMatch(/^Wrong configuration: PUBLIC_BASE_URL: [^;]+$/);
      const container: Environment = { ...shipped, PUBLIC_BASE_URL };
      expect(refusalOf(owner, container)).toBe('');
      expect(refusalOf(owner, { ...container, PRIVATE_KEY_DIRECTORY: '' })).toContain(
        'PRIVATE_KEY_DIRECTORY: ',
      );
    },
  );

  test.each(owners)('the demo overlay is a configuration of %s', (owner) => {
    const { common, own } = kubernetesEnvironment('demo');
    const demo = parseEnvFile('deploy/demo.env');
    const ofSecret = Object.keys(parseEnvFile(secretExample(owner))).map((name) => [name, demo[name]]);
    const made = { OAUTH_SECRET: secrets.OAUTH_SECRET, SECOND_FACTOR_KEY: secrets.SECOND_FACTOR_KEY };
    expect(
      refusalOf(owner, { ...Object.fromEntries([...common, ...own(owner), ...ofSecret]), ...made }),
    ).toBe('');
  });

  test('no manifest applies a Secret, which would overwrite the real one', () => {
    const manifests = files.filter((file) => /^deploy\/kubernetes\/.*\.yaml$/.test(file));
    const kinds = manifests.flatMap((file) => manifestsOf(file).map(({ kind }) => kind));
    expect(kinds).toContain('Deployment');
    expect(kinds).not.toContain('Secret');
    const kustomizations = manifests.filter((file) => file.endsWith('/kustomization.yaml'));
    expect(kustomizations).toHaveLength(9);
    expect(kustomizations.filter((file) => read(file).includes('secretGenerator'))).toEqual([]);
  });

  test.each(owners)('the example Secret of %s contains only keys', (owner) => {
    const example = parseEnvFile(secretExample(owner));
    expect(Object.keys(example)).toContain('REDIS_URL');
    expect(Object.values(example).filter((value) => value !== '')).toEqual([]);
  });
});

test('only the demos contain a publicly known value', () => {
  const deployed = files.filter((file) => /^(?:deploy\/|Dockerfile|docker-compose|\.env)/.test(file));
  expect(deployed).toContain('deploy/demo.env');
  const containing = deployed.filter((file) =>
    read(file)
      .split('\n')
      .filter((line) => /^\s*#\s/.test(line) === false || /^# [A-Z0-9_]+=/.test(line))
      .some((line) =>
        /demo-password-1|change-me|98912000000|[:/](\w+):\1@|guest:guest|=sandbox$|[=:] ?zibal$/.test(line),
      ),
  );
  expect(containing).toEqual(['deploy/demo.env', 'deploy/kubernetes/overlays/demo/settings/identity.env']);
});
