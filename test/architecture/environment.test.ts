/** Variables in the files of the deployments. `npm run generate` adds missing ones (generated/settings.ts). */
import { spawnSync } from 'node:child_process';
import { mkdtempSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { AUDITED_SERVICES } from '@fitness/shared/audit/models.ts';
import { DEMO_PASSWORD } from '@fitness/shared/kernel/known-values.ts';
import { expectByRecipe } from '@fitness/shared/testing/recipe.ts';
import { beforeAll, describe, expect, test } from '@jest/globals';
import { PROVIDER_PORT, PROVIDERS, productEnvironment } from '../../sandbox/src/providers/index.ts';
import { images as testImages } from '../../scripts/lib/servers/images.mjs';
import { MAX_FILE_BYTES } from '../../services/media/src/domain/file-types.ts';
import { loadConfigurations, owners, type Variable } from './configurations.ts';
import {
  composeEnvironment,
  composeSecrets,
  composeServices,
  documented,
  EXAMPLE,
  interpolate,
  isCredential,
  isOfDemoData,
  isSecret,
  kubernetesEgress,
  kubernetesEnvironment,
  kubernetesFiles,
  manifestsOf,
  nameInDotEnv,
  nameOf,
  networksOut,
  OF_ALL,
  parseEnvFile,
  shownSettings,
  takenFromDotEnv,
  valueName,
} from './deployments.ts';
import { exists, files, parse, productSources, read, root, walk } from './support.ts';

const DEMO = 'deploy/demo.env';

let variables: readonly Variable[] = [];
beforeAll(async () => {
  ({ variables } = await loadConfigurations());
});

test('the schema of every process is recorded', () => {
  expect([...new Set(variables.map(({ reader }) => reader))].sort()).toEqual([...owners].sort());
});

test('.env.example lists a variable once, or once per process', () => {
  const names = new Map<string, string[]>();
  for (const line of read(EXAMPLE).split('\n')) {
    const [, name, process = ''] = /^#?\s*([A-Z][A-Z0-9_]*)=(?:\S*\s+#\s*([\w-]+))?/.exec(line) ?? [];
    if (name !== undefined) names.set(name, [...(names.get(name) ?? []), process]);
  }
  const listed = [...names].flatMap(([name, processes]) => processes.map((process) => `${name} ${process}`));
  const repeated = [...names].filter(([, processes]) => processes.length > 1 && processes.includes(''));
  expect(listed.filter((line, index) => listed.indexOf(line) < index)).toEqual([]);
  expect(repeated).toEqual([]);
});

test('.env.example shows the default of every process', () => {
  const shown = documented();
  const wrong = variables.flatMap(({ reader, name, field }) => {
    const values = shown.get(name);
    const standard = field.safeParse(undefined);
    if (values === undefined || !standard.success) return [];
    const means = (value: string): unknown => {
      const parsed = value === '' ? field.safeParse(undefined) : field.safeParse(value);
      return parsed.success ? parsed.data : undefined;
    };
    // A variable without a default may be empty or have an example.
    const fits = values.some((value) => JSON.stringify(means(value)) === JSON.stringify(standard.data));
    if (fits || standard.data === undefined) return [];
    return [`${name}: ${reader} takes ${JSON.stringify(standard.data)}, shown is ${values.join(', ')}`];
  });
  expect([...new Set(wrong)].sort()).toEqual([]);
});

/** Names that the sandbox, commands and scripts read. */
const readElsewhere = (): Set<string> => {
  const names = new Set<string>();
  for (const file of productSources.filter((name) => /(?:^|\/)config\.ts$|-cli\.ts$/.test(name))) {
    walk(parse(file).body, (node) => {
      if (node.type === 'Identifier' && /^[A-Z][A-Z0-9_]+$/.test(String(node.value)))
        names.add(String(node.value));
    });
  }
  for (const file of files.filter((name) => /^(?:scripts\/.*\.mjs|docker-compose.*\.ya?ml)$/.test(name))) {
    for (const [name] of read(file).matchAll(/\b[A-Z][A-Z0-9]*_[A-Z0-9_]+\b/g)) names.add(name);
    for (const [, name = ''] of read(file).matchAll(/process\.env\.([A-Z]+)\b/g)) names.add(name);
  }
  return names;
};

test('.env.example contains no unknown variable', () => {
  const names = new Set([...variables.map(({ name }) => name), ...readElsewhere()]);
  expect([...documented().keys()].filter((name) => !names.has(name))).toEqual([]);
});

test('the variables of the sandbox and of commands are in .env.example', () => {
  const shown = documented();
  const missing: string[] = [];
  const sandbox = read('sandbox/src/config.ts');
  for (const [, name] of sandbox.matchAll(/^ {2}([A-Z][A-Z0-9_]*): z(?:\.|$)/gm)) {
    if (name !== undefined && !shown.has(name)) missing.push(`${name} (sandbox)`);
  }
  for (const file of productSources.filter((name) => name.endsWith('-cli.ts'))) {
    for (const [, name = ''] of read(file).matchAll(/process\.env\.([A-Z][A-Z0-9_]*)/g)) {
      if (!shown.has(name)) missing.push(`${name} (${file})`);
    }
  }
  expectByRecipe('configuration-variable', missing);
});

const namesOf = (owner: string): string[] => [
  ...new Set(variables.filter(({ reader }) => reader === owner).map(({ name }) => name)),
];

/**
 * Whether a variable is not set by .env or the ConfigMap, because processes differ or the network determines it: ports, databases,
 * service addresses, volumes.
 */
const isFixed = (name: string): boolean =>
  /^(?:HOST|[A-Z]+_PORT|MONGODB_DATABASE|(?:MEDIA|JOURNAL|PRIVATE_KEY|PUBLIC_KEYS|TLS)_DIRECTORY)$|_GRPC_ADDRESS$/.test(
    name,
  ) ||
  (name.endsWith('_HTTP_URL') && !name.startsWith('PUBLIC_'));

/** Variables of a process whose defaults are addresses on one machine. */
const ofOneMachine = (owner: string): string[] => [
  ...new Set(
    variables
      .filter(({ reader }) => reader === owner)
      .filter(
        ({ name, field }) => name !== 'HOST' && /127\.0\.0\.1/.test(String(field.safeParse(undefined).data)),
      )
      .map(({ name }) => name),
  ),
];

const reads = (owner: string, name: string): boolean =>
  namesOf(owner).includes(name) && !isOfDemoData(owner, name);

/** Whether a process calls providers on the Internet. */
const hasProviders = (owner: string): boolean => {
  const providers = Object.entries(productEnvironment('http://sandbox'))
    .filter(([, value]) => value.startsWith('http://sandbox/'))
    .map(([name]) => name);
  return [...providers, 'MEDIA_S3_ENDPOINT'].some((name) => namesOf(owner).includes(name));
};

describe('docker-compose.yml', () => {
  const services = composeServices();
  const containerOf = (owner: string) => services[nameOf(owner)] ?? {};
  const passed = (owner: string): string[] =>
    Object.keys(services[owner.split('/').at(-1) ?? '']?.environment ?? {}).map(valueName);
  const required = {
    PUBLIC_BASE_URL: 'https://api.example',
    ZIBAL_MERCHANT: 'q',
    APP_NAME: 'q',
    APP_DEVELOPER: 'q',
  };

  test.each(owners)('Compose gives %s no variable that it does not read', (owner) => {
    expectByRecipe(
      'configuration-variable',
      passed(owner).filter((name) => !reads(owner, name)),
    );
  });

  test.each(owners)('Compose gives %s every value in .env', (owner) => {
    const names = namesOf(owner).filter((name) => !isFixed(name) && !isOfDemoData(owner, name));
    const lost = names.filter((name) => {
      const dotEnv = { ...required, [nameInDotEnv(owner, name)]: 'from .env' };
      return composeEnvironment(owner, dotEnv)[name] !== 'from .env';
    });
    expect(lost).toEqual([]);
  });

  test('Compose gives the sandbox its values in .env', () => {
    const sandbox = composeEnvironment('sandbox', { NODE_ENV: 'test', LOG_LEVEL: 'debug' });
    expect(sandbox).toMatchObject({ NODE_ENV: 'test', LOG_LEVEL: 'debug' });
  });

  /** The ports of the emulated providers. */
  const emulated = `${PROVIDER_PORT}-${PROVIDER_PORT + PROVIDERS.length - 1}`;

  test('Compose publishes the port of each emulated provider', () => {
    expect(services.sandbox?.ports?.map((port) => interpolate(port, {}))).toEqual([
      '127.0.0.1:8090:8090',
      '127.0.0.1:8089:8089',
      `127.0.0.1:${emulated}:${emulated}`,
    ]);
    expect(documented().get('SANDBOX_PROVIDER_PORTS')).toEqual([emulated]);
  });

  test('Compose can publish the sandbox on other ports, and its address follows', () => {
    const moved = { SANDBOX_HTTP_PORT: '1', SANDBOX_SMTP_PORT: '2', SANDBOX_PROVIDER_PORTS: '3-8' };
    expect(services.sandbox?.ports?.map((port) => interpolate(port, moved))).toEqual([
      '127.0.0.1:1:1',
      '127.0.0.1:2:8089',
      `127.0.0.1:3-8:${emulated}`,
    ]);
    expect(composeEnvironment('sandbox', moved).HTTP_PORT).toBe('1');
    expect(read(DEMO)).not.toMatch(/localhost:8090|127\.0\.0\.1:8080/);
  });

  test('Compose limits memory, cores and threads of every container', () => {
    const unlimited = Object.entries(services).filter(([, { mem_limit, cpus, pids_limit }]) =>
      [mem_limit, cpus, pids_limit].includes(undefined),
    );
    expect(unlimited.map(([name]) => name)).toEqual([]);
  });

  test.each(owners)(
    'Compose also takes every secret of %s from a file that no other container gets',
    (owner) => {
      const { environment = {}, secrets = [] } = containerOf(owner);
      const credentials = namesOf(owner).filter((name) => isCredential(name) && !isOfDemoData(owner, name));
      expect(credentials.filter((name) => !environment[`${name}_FILE`])).toEqual([]);
      for (const name of secrets) {
        expect(environment[`${name}_FILE`]).toBe(`/run/secrets/${name}`);
        const file = composeSecrets()[name]?.file ?? '';
        expect(interpolate(file, {})).toBe('/dev/null');
        expect(interpolate(file, { [`${name}_FILE`]: '/secret' })).toBe('/secret');
        const takers = Object.values(services).filter((service) => service.secrets?.includes(name));
        expect(takers).toHaveLength(1);
      }
    },
  );

  test('Compose creates the administrator that the demo data expects', () => {
    const defaults = Object.fromEntries(
      variables
        .filter(({ reader }) => reader === 'gateway')
        .map(({ name, field }) => [name, field.safeParse(undefined).data]),
    );
    const demo = parseEnvFile(DEMO);
    expect(demo.FIRST_ADMINISTRATOR_USERNAME).toBe(defaults.FIRST_ADMINISTRATOR_USERNAME);
    expect(demo.FIRST_ADMINISTRATOR_PASSWORD).toBe(DEMO_PASSWORD);
  });

  test('Compose gives no secret in .env to two containers', () => {
    const takers = new Map<string, Set<string>>();
    for (const [container, definition] of Object.entries(services)) {
      // The provisioning command refuses these addresses.
      if (container === 'credentials') continue;
      const taker = definition.profiles?.includes('operator') ? 'operator' : container;
      for (const name of takenFromDotEnv(definition))
        if (isSecret(name) && name !== OF_ALL) takers.set(name, (takers.get(name) ?? new Set()).add(taker));
    }
    expect([...(takers.get('ZIBAL_MERCHANT') ?? [])]).toEqual(['wallet']);
    expect([...takers].filter(([, containers]) => containers.size > 1)).toEqual([]);
  });

  test('Compose gives each container only its own credentials', () => {
    const mounts = Object.entries(services).flatMap(([container, { volumes = [] }]) =>
      volumes
        .filter((volume) => volume.startsWith('credentials-') && container !== 'credentials')
        .map((volume): [string, string] => [container, volume.replace(/:.*/, '')]),
    );
    const wrong = mounts.filter(([container, volume]) => {
      const isOperators = services[container]?.profiles?.includes('operator');
      const owner = isOperators ? 'operator' : container.replace(/-definitions$/, '');
      return volume !== `credentials-${owner}`;
    });
    expect(wrong).toEqual([]);
    const mounting = new Set(mounts.map(([container]) => container));
    expect(owners.map(nameOf).filter((name) => !mounting.has(name))).toEqual([]);
    const readOnly = Object.values(services).flatMap(({ volumes = [] }) =>
      volumes.filter((volume) => volume.includes(':/run/credentials')),
    );
    expect(readOnly.filter((volume) => !volume.endsWith(':ro'))).toEqual([]);
  });

  test("Compose gives each container only its own process's private key", () => {
    const mounts = Object.entries(services).flatMap(([container, { volumes = [] }]) =>
      volumes
        .filter((volume) => /^(?:key-|authority|public-keys)/.test(volume) && container !== 'keys')
        .map((volume) => `${container} ${volume}`),
    );
    const names = owners.map(nameOf);
    const expected = names.flatMap((name) => [
      `${name} public-keys:/data/keys/public:ro`,
      `${name} key-${name}:/data/keys/private/${name}:ro`,
    ]);
    expect(mounts.sort()).toEqual(expected.sort());
    for (const name of names) {
      const directory = `/data/keys/private/${name}`;
      expect(services[name]?.environment).toMatchObject({
        PRIVATE_KEY_DIRECTORY: directory,
        TLS_DIRECTORY: directory,
      });
    }
  });

  test.each(owners)('Compose lets %s reach the outside only if it has providers', (owner) => {
    const out = networksOut(containerOf(owner));
    // The gateway's port is published.
    if (owner === 'gateway') expect(out).toEqual(['edge']);
    else expect(out).toEqual(hasProviders(owner) ? ['providers'] : []);
  });

  test.each([
    'mongodb',
    'redis',
    'rabbitmq',
    'mongodb-users',
    'rabbitmq-definitions',
    'dead-letters',
    'audit-log',
    'audit-wallet',
  ])('Compose does not let %s reach the outside', (container) => {
    expect(networksOut(services[container] ?? { networks: ['undefined'] })).toEqual([]);
  });

  test.each(owners)('Compose leaves no address of one machine in %s', (owner) => {
    const environment = composeEnvironment(owner, required);
    const names = ofOneMachine(owner);
    expect(names.length).toBeGreaterThan(0);
    const isGiven = (name: string): boolean =>
      (environment[`${name}_FILE`] ?? environment[name] ?? '') !== '';
    expect(names.filter((name) => !isGiven(name) || /127\.0\.0\.1/.test(environment[name] ?? ''))).toEqual(
      [],
    );
  });

  test('Compose pins every image by its digest', () => {
    const images = Object.values(services).map(({ image = '' }) => interpolate(image, {}));
    const base = /^ARG NODE_IMAGE=(.+)$/m.exec(read('Dockerfile'))?.[1] ?? '';
    const [proxy = ''] = /haproxy:[^}]+/.exec(read('deploy/compose.tls.yaml')) ?? [];
    const foreign = [
      base,
      proxy,
      ...images.filter((image) => !/^fitness-platform(?:-sandbox)?$/.test(image)),
    ];
    expect(foreign).toHaveLength(8);
    expect(foreign.filter((image) => !/^[a-z/]+:[\w.-]+@sha256:[0-9a-f]{64}$/.test(image))).toEqual([]);
    const stages = [...read('Dockerfile').matchAll(/^FROM (\S+)/gm)].map(([, image = '']) => image);
    const named = [...read('Dockerfile').matchAll(/^FROM \S+ AS (\S+)/gm)].map(([, name = '']) => name);
    const outside = stages.filter((image) => !named.includes(image));
    expect(outside.map((image) => interpolate(image, { NODE_IMAGE: base }))).toEqual([base, base]);
    const [kustomization] = manifestsOf('deploy/kubernetes/overlays/production/kustomization.yaml');
    expect(kustomization?.images).toEqual([
      expect.objectContaining({ name: 'fitness-platform', digest: expect.stringMatching(/^sha256:/) }),
    ]);
  });

  test("Compose names each server's exact version besides its digest", () => {
    const images = Object.values(services)
      .filter(({ profiles = [] }) => !profiles.includes('observability'))
      .map(({ image = '' }) => interpolate(image, {}));
    const servers = images.filter((image) => !/^fitness-platform(?:-sandbox)?$/.test(image));
    expect(servers).toHaveLength(4);
    expect(servers.filter((image) => !/^[a-z]+:\d+\.\d+\.\d+@/.test(image))).toEqual([]);
    // `npm start` and the tests use the same ones if there is Docker.
    const names = new Set(servers.map((image) => image.split('@')[0]));
    expect([...names].sort()).toEqual(Object.values(testImages).sort());
    const ofWorkflow = [...read('.github/workflows/servers.yml').matchAll(/^ +image: (\S+)$/gm)].map(
      ([, image = '']) => image,
    );
    expect(ofWorkflow.sort()).toEqual(Object.values(testImages).sort());
  });

  test('Compose publishes the gateway for a proxy on this machine, which it trusts about clients', () => {
    expect(services.gateway?.ports?.map((port) => interpolate(port, {}))).toEqual([
      '127.0.0.1:8080:8080',
      '127.0.0.1:8081:8081',
    ]);
    expect(composeEnvironment('gateway', required).TRUST_PROXY).toBe('1');
    expect(composeEnvironment('gateway', parseEnvFile(DEMO)).TRUST_PROXY).toBe('0');
  });
});

test('deploy/demo.env points the product at every provider of the sandbox', () => {
  const demo = parseEnvFile(DEMO);
  const wrong = Object.entries(productEnvironment('http://sandbox.localhost:8090'))
    // A key is generated at each start.
    .filter(([name, value]) => !value.startsWith('-----BEGIN') && demo[name] !== value);
  const lines = wrong.map(([name, value]) => `${name}=${value}`);
  expect(lines).toEqual([]);
});

test('the Kubernetes demo points the product at every provider of the sandbox', () => {
  const { common, own } = kubernetesEnvironment('demo');
  const settings = new Map([...common, ...owners.flatMap((owner) => [...own(owner)])]);
  const wrong = Object.entries(productEnvironment('http://sandbox.localhost:8090')).filter(
    ([name, value]) => !isSecret(name) && settings.get(name) !== value,
  );
  expect(wrong).toEqual([]);
});

test("the name of the sandbox in the Kubernetes demo is its pod's, and browsers resolve it", () => {
  const manifests = manifestsOf('deploy/kubernetes/overlays/demo/sandbox.yaml');
  const find = (kind: string) => manifests.find((manifest) => manifest.kind === kind);
  const { hostname, subdomain } = find('Deployment')?.spec?.template?.spec ?? {};
  expect(`${hostname}.${subdomain}`).toBe('sandbox.localhost');
  // A pod has a DNS name only below the name of such a service.
  expect(find('Service')).toMatchObject({
    metadata: { name: subdomain },
    spec: { clusterIP: 'None', selector: { 'app.kubernetes.io/name': 'sandbox' } },
  });
});

describe('deploy/kubernetes', () => {
  const { common, own, secrets, containers } = kubernetesEnvironment();
  const variableNames = (owner: string): string[] =>
    [...common.keys(), ...own(owner).keys(), ...secrets(owner).keys()].map(valueName);

  test.each(owners)(
    'Kubernetes gives %s its own key and certificate, and lets it communicate only by TLS',
    (owner) => {
      const name = nameOf(owner);
      const manifests = manifestsOf(`deploy/kubernetes/base/${name}.yaml`);
      const pod = manifests.find(({ kind }) => kind === 'Deployment')?.spec?.template?.spec;
      expect(pod?.volumes?.filter(({ secret, configMap }) => secret ?? configMap)).toEqual([
        expect.objectContaining({ secret: expect.objectContaining({ secretName: `${name}-key` }) }),
        { name: 'public-keys', configMap: { name: 'public-keys' } },
        expect.objectContaining({ secret: expect.objectContaining({ secretName: `${name}-tls` }) }),
      ]);
      const certificate = manifestsOf('deploy/kubernetes/base/certificates.yaml').find(
        ({ kind, spec }) => kind === 'Certificate' && spec?.secretName === `${name}-tls`,
      );
      expect(certificate?.spec?.dnsNames).toEqual([name]);
      expect(common.get('TLS_DIRECTORY')).toBe('/tls');
      const urls = [...own(owner)].filter(([variable]) => variable.endsWith('_HTTP_URL'));
      expect(urls.filter(([, url]) => !url.startsWith('https://'))).toEqual([]);
      const [{ startupProbe, readinessProbe, livenessProbe } = {}] = pod?.containers ?? [];
      const schemes = [startupProbe, readinessProbe, livenessProbe].map((probe) => probe?.httpGet.scheme);
      // The gateway serves the ingress controller without TLS.
      const scheme = name === 'gateway' ? undefined : 'HTTPS';
      expect(schemes).toEqual([scheme, scheme, scheme]);
      // Neither probe ends a process that is waiting for its servers.
      if (name !== 'gateway')
        expect([startupProbe, livenessProbe].map((probe) => probe?.httpGet.path)).toEqual([
          '/health/live',
          '/health/live',
        ]);
    },
  );

  test.each(owners.filter((owner) => owner !== 'gateway'))(
    "Kubernetes upgrades the data of %s in a Job with its pod's settings",
    (owner) => {
      const name = nameOf(owner);
      const podOf = (file: string) =>
        manifestsOf(`deploy/kubernetes/base/${file}.yaml`).find(({ spec }) => spec?.template !== undefined)
          ?.spec?.template?.spec;
      const { image, args = [], envFrom, volumeMounts = [] } = podOf(name)?.containers?.[0] ?? {};
      const upgrade = podOf('upgrade')?.containers?.find((container) => container.name === name);
      // In the Job, the process name precedes the volume names.
      const mounts = upgrade?.volumeMounts?.map((mount) => ({
        ...mount,
        name: mount.name.replace(`${name}-key`, 'private-key').replace(`${name}-tls`, 'tls'),
      }));
      expect(upgrade).toMatchObject({ image, args: [...args, 'upgrade'], envFrom });
      expect(mounts).toEqual(expect.arrayContaining(volumeMounts));
      expect(mounts).toHaveLength(volumeMounts.length);
    },
  );

  test.each(owners)(
    'Kubernetes lets %s serve requests while it drains, and finish before it is killed',
    (owner) => {
      const name = nameOf(owner);
      const pod = manifestsOf(`deploy/kubernetes/base/${name}.yaml`).find(({ kind }) => kind === 'Deployment')
        ?.spec?.template?.spec;
      const [drain, grace] = ['DRAIN_MS', 'SHUTDOWN_GRACE_MS'].map((variable) =>
        Number(common.get(variable)),
      );
      // The gateway closes idle connections to a service after four seconds, and refreshes DNS records every five.
      expect(drain).toBeGreaterThanOrEqual(10_000);
      expect(grace).toBeGreaterThan(Number(drain) + 30_000);
      expect(Number(pod?.terminationGracePeriodSeconds) * 1_000).toBeGreaterThanOrEqual(
        Number(grace) + 5_000,
      );
    },
  );

  test.each(owners.filter((owner) => owner !== 'gateway'))(
    'the Kubernetes service names of %s resolve to a record per pod',
    (owner) => {
      const name = nameOf(owner);
      const services = manifestsOf(`deploy/kubernetes/base/${name}.yaml`).filter(
        ({ kind }) => kind === 'Service',
      );
      expect(services.map(({ metadata }) => metadata?.name).sort()).toEqual([`${name}-grpc`, `${name}-http`]);
      expect(services.map(({ spec }) => spec?.clusterIP)).toEqual(['None', 'None']);
    },
  );

  test.each(owners)('Kubernetes sets every required variable of %s', (owner) => {
    const names = new Set(variableNames(owner));
    const required = variables.filter(
      ({ reader, field }) => reader === owner && !field.safeParse(undefined).success,
    );
    expect(required.map(({ name }) => name).filter((name) => !names.has(name))).toEqual([]);
  });

  test.each(owners)('Kubernetes gives %s no variable that it does not read, and each only once', (owner) => {
    const names = variableNames(owner);
    expect(names.filter((name) => !reads(owner, name))).toEqual([]);
    expect(names.filter((name, index) => names.indexOf(name) < index)).toEqual([]);
  });

  test.each(owners)('Kubernetes gives every secret of %s in its Secret', (owner) => {
    const settings = [...common.keys(), ...own(owner).keys(), ...shownSettings(owner).keys()];
    expect(settings.filter(isSecret)).toEqual([]);
    const ofSecret = namesOf(owner).filter((name) => isSecret(name) && !isOfDemoData(owner, name));
    expect(ofSecret.filter((name) => !secrets(owner).has(name))).toEqual([]);
  });

  test.each(owners)('Kubernetes shows only variables that %s reads, with their defaults', (owner) => {
    const set = new Set([...common.keys(), ...own(owner).keys()]);
    const wrong = [...shownSettings(owner)].filter(([name, value]) => {
      const field = variables.find((each) => each.reader === owner && each.name === name)?.field;
      if (field === undefined || !reads(owner, name)) return true;
      const standard = field.safeParse(undefined);
      if (set.has(name) || !standard.success) return false;
      return JSON.stringify(field.safeParse(value || undefined).data) !== JSON.stringify(standard.data);
    });
    expect(wrong).toEqual([]);
  });

  test('Kubernetes runs only one replica of a process with files on disk', () => {
    const media = manifestsOf('deploy/kubernetes/base/media.yaml');
    expect(own('services/media').get('MEDIA_STORAGE')).toBe('s3');
    const autoscaler = media.find(({ kind }) => kind === 'HorizontalPodAutoscaler');
    expect(own('services/media').get('MEDIA_REPLICAS')).toBe(String(autoscaler?.spec?.maxReplicas));
    expect(media.map(({ kind }) => kind)).not.toContain('PersistentVolumeClaim');
    expect(read('deploy/kubernetes/base/media.yaml')).not.toContain('persistentVolumeClaim');
  });

  test.each(owners)(
    'Kubernetes leaves the number of pods of %s to its autoscaler, and spreads them',
    (owner) => {
      const manifests = manifestsOf(`deploy/kubernetes/base/${nameOf(owner)}.yaml`);
      expect(manifests.map(({ kind }) => kind)).toContain('HorizontalPodAutoscaler');
      const spec = manifests.find(({ kind }) => kind === 'Deployment')?.spec;
      expect(spec).not.toHaveProperty('replicas');
      expect(spec?.template?.spec?.topologySpreadConstraints?.map(({ topologyKey }) => topologyKey)).toEqual([
        'topology.kubernetes.io/zone',
        'kubernetes.io/hostname',
      ]);
    },
  );

  test('Kubernetes limits every emptyDir', () => {
    const volumes = files
      .filter((file) => /^deploy\/kubernetes\/.*\.yaml$/.test(file))
      .flatMap((file) => [...read(file).matchAll(/emptyDir: *(.*)/g)].map(([, value]) => `${file} ${value}`));
    expect(volumes.length).toBeGreaterThan(7);
    expect(
      volumes.filter((volume) => !/\{ sizeLimit: \w+ \}$|kustomization\.yaml null$/.test(volume)),
    ).toEqual([]);
  });

  test("the Ingress accepts the gateway's largest body", () => {
    const ingress = manifestsOf('deploy/kubernetes/base/gateway.yaml').find(({ kind }) => kind === 'Ingress');
    expect(ingress?.spec).toMatchObject({ ingressClassName: 'nginx' });
    const limit = ingress?.metadata?.annotations?.['nginx.org/client-max-body-size'] ?? '';
    expect(Number(/^(\d+)m$/.exec(limit)?.[1]) * 1_024 * 1_024).toBeGreaterThan(MAX_FILE_BYTES);
  });

  test.each([
    ['audit-wallet', 'services/wallet/src/audit-cli.ts'],
    ['audit-log', 'packages/shared/src/audit/audit-cli.ts'],
  ])("Kubernetes runs %s each night with the operator's user, never two at once", (name, program) => {
    const job = manifestsOf('deploy/kubernetes/base/audits.yaml').find(
      ({ metadata }) => metadata?.name === name,
    );
    expect(job?.spec).toMatchObject({ concurrencyPolicy: 'Forbid' });
    const [container] = job?.spec?.jobTemplate?.spec.template.spec.containers ?? [];
    expect(container?.args).toEqual(['node', program]);
    expect(exists(program)).toBe(true);
    const secretNames = container?.env?.flatMap(({ valueFrom }) => valueFrom?.secretKeyRef?.name ?? []);
    expect(new Set(secretNames)).toEqual(new Set(['fitness-operator']));
  });

  test('operator pods reach only the servers that their commands use', () => {
    expect(kubernetesEgress('operator')).toEqual(['data:27017', 'data:5671', 'data:5672']);
    expect(kubernetesEgress('audit')).toEqual(['data:27017']);
    expect(kubernetesEgress('upgrade')).toEqual(['data:27017', 'data:6379', 'data:5671', 'data:5672']);
    expect(Object.keys(parseEnvFile('deploy/kubernetes/secrets/operator.example.env'))).toEqual([
      'MONGODB_URI',
      'AMQP_URL',
      'LEDGER_SEALS_MONGODB_URI',
    ]);
  });

  test('an operator command in Kubernetes gets the same settings as in docker-compose.yml', () => {
    const [{ spec } = {}] = manifestsOf('deploy/kubernetes/base/operator.yaml');
    expect(spec).toMatchObject({ replicas: 0 });
    const [container] = spec?.template?.spec?.containers ?? [];
    expect(container?.envFrom).toEqual([{ secretRef: { name: 'fitness-operator' } }]);
    // With MONGODB_DATABASE set, a command for another service would refuse to run.
    expect(container?.env?.map(({ name }) => name)).toEqual([
      'NODE_ENV',
      'EVENTS_NAMESPACE',
      ...AUDITED_SERVICES.map(databaseVariable),
      'LEDGER_SEALS_DATABASE',
    ]);
  });

  const databaseVariable = (service: string): string =>
    `${service.replaceAll('-', '_').toUpperCase()}_MONGODB_DATABASE`;

  test('operator commands in Kubernetes get the databases of the services and seals', () => {
    const jobs = manifestsOf('deploy/kubernetes/base/audits.yaml').map(({ metadata, spec }) => ({
      name: metadata?.name,
      container: spec?.jobTemplate?.spec.template.spec.containers[0],
    }));
    const [{ spec } = {}] = manifestsOf('deploy/kubernetes/base/operator.yaml');
    const pods = [...jobs, { name: 'operator', container: spec?.template?.spec?.containers?.[0] }];
    const databases = pods.map(({ name, container }) => [
      name,
      Object.fromEntries(
        container?.env?.flatMap(({ name: variable, valueFrom }) => {
          const { name: map, key } = valueFrom?.configMapKeyRef ?? {};
          return variable.endsWith('_DATABASE') ? [[variable, `${map} ${key}`]] : [];
        }) ?? [],
      ),
    ]);
    const ofServices = Object.fromEntries(
      AUDITED_SERVICES.map((each) => [databaseVariable(each), `fitness-${each} MONGODB_DATABASE`]),
    );
    const seals = { LEDGER_SEALS_DATABASE: 'fitness-wallet LEDGER_SEALS_DATABASE' };
    expect(Object.fromEntries(databases)).toEqual({
      'audit-wallet': { MONGODB_DATABASE: 'fitness-wallet MONGODB_DATABASE', ...seals },
      'audit-log': ofServices,
      operator: { ...ofServices, ...seals },
    });
  });

  test('every container gets the shared ConfigMap, and its own ConfigMap and Secret', () => {
    expect(containers.map(({ name }) => name).sort()).toEqual(owners.map(nameOf).sort());
    for (const { name, envFrom } of containers) {
      const ofProcess = { name: `fitness-${name}` };
      expect(envFrom).toEqual([
        { configMapRef: { name: 'fitness' } },
        { configMapRef: ofProcess },
        { secretRef: ofProcess },
      ]);
    }
  });

  test.each(owners)('Kubernetes leaves no address of one machine in %s', (owner) => {
    const environment = new Map([...common, ...own(owner), ...secrets(owner)]);
    const wrong = ofOneMachine(owner).filter((name) =>
      /127\.0\.0\.1|^none$/.test(environment.get(name) ?? 'none'),
    );
    expect(wrong).toEqual([]);
  });

  test.each(owners)(
    'Kubernetes lets %s call only its configured addresses, servers and providers',
    (owner) => {
      const settings = own(owner);
      const called = namesOf(owner)
        .filter((name) => name.endsWith('_GRPC_ADDRESS') || (name.endsWith('_HTTP_URL') && isFixed(name)))
        .map((name) =>
          (settings.get(name) ?? `missing ${name}`)
            .replace(/^https?:\/\//, '')
            .replace(/-(?:grpc|http):/, ':'),
        );
      const ports = { MONGODB_URI: [27017], REDIS_URL: [6379], AMQP_URL: [5671, 5672] };
      const servers = Object.entries(ports).flatMap(([name, numbers]) =>
        reads(owner, name) ? numbers.map((port) => `data:${port}`) : [],
      );
      const mail = namesOf(owner).includes('SMTP_URL') ? ['internet:465', 'internet:587'] : [];
      const outside = hasProviders(owner) ? ['internet:443', ...mail] : [];
      expect(kubernetesEgress(owner).sort()).toEqual([...called, ...servers, ...outside].sort());
    },
  );

  test('every pod may call only DNS unless a policy of its process says more', () => {
    const policies = kubernetesFiles()
      .flatMap(manifestsOf)
      .filter(({ kind, spec }) => kind === 'NetworkPolicy' && spec?.policyTypes?.includes('Egress'))
      .filter(({ spec }) => spec?.podSelector?.matchLabels?.['app.kubernetes.io/part-of'] === 'fitness');
    expect(policies).toHaveLength(1);
    const rules = policies.flatMap(({ spec }) => spec?.egress ?? []);
    expect(rules).toHaveLength(1);
    expect(rules.flatMap(({ ports = [] }) => ports.map(({ port }) => port))).toEqual([53, 53]);
    expect(rules.flatMap(({ to = [] }) => to)).toEqual([
      {
        namespaceSelector: { matchLabels: { 'kubernetes.io/metadata.name': 'kube-system' } },
        podSelector: { matchLabels: { 'k8s-app': 'kube-dns' } },
      },
    ]);
  });

  test('only the ingress controller reaches the gateway, which trusts it about clients', () => {
    const manifests = kubernetesFiles().flatMap(manifestsOf);
    const trusted = Number(own('gateway').get('TRUST_PROXY'));
    expect(trusted).toBe(1);
    const open = manifests
      .filter(({ kind }) => kind === 'NetworkPolicy')
      .flatMap(({ spec }) => spec?.ingress ?? [])
      .filter(({ from = [] }) => from.length === 0);
    expect(open).toEqual([]);
  });
});

describe('the entrypoint of the image', () => {
  const file = join(mkdtempSync(join(tmpdir(), 'entrypoint-')), 'secret');
  writeFileSync(file, 'from the file');
  const run = (environment: Record<string, string>) =>
    spawnSync('sh', [join(root, 'deploy/entrypoint.sh'), 'printenv', 'ZIBAL_MERCHANT'], {
      env: { PATH: process.env.PATH ?? '', ...environment },
      encoding: 'utf8',
    });

  test('the entrypoint reads a variable from the file named by NAME_FILE', () => {
    expect(run({ ZIBAL_MERCHANT_FILE: file }).stdout).toBe('from the file\n');
  });

  test('the entrypoint prefers the variable itself over its file', () => {
    expect(run({ ZIBAL_MERCHANT_FILE: file, ZIBAL_MERCHANT: 'given' }).stdout).toBe('given\n');
  });

  test('the entrypoint does not start the process if a file cannot be read', () => {
    const { status, stdout } = run({ ZIBAL_MERCHANT_FILE: `${file}-missing` });
    expect({ isOk: status === 0, stdout }).toEqual({ isOk: false, stdout: '' });
  });
});
