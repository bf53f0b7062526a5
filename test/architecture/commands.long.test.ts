/** Runs the commands of package.json as child processes, without servers. */
import { type SpawnSyncReturns, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import {
  appendFileSync,
  chmodSync,
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  truncateSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { text } from 'node:stream/consumers';
import { setImmediate } from 'node:timers/promises';
import { JOURNALS } from '@fitness/shared/kernel/journal-markers.mjs';
import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { explain, fullDisk } from '../../scripts/lib/explain.mjs';
import { nodeBinary } from '../../scripts/lib/paths.mjs';
import { startTimeOf } from '../../scripts/lib/supervisor.mjs';
import { read, root } from './support.ts';

let directory = '';
beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), 'commands-'));
});
afterEach(() => rmSync(directory, { recursive: true, force: true }));

/** Without the servers of the other tests. */
const {
  TEST_RESULTS: _result,
  MONGODB_URI: _database,
  REDIS_URL: _redis,
  AMQP_URL: _broker,
  ...environment
} = process.env;
const run = (command: string, args: readonly string[], options: object = {}): SpawnSyncReturns<string> =>
  spawnSync(command, args, {
    cwd: root,
    encoding: 'utf8',
    ...options,
    env: { ...environment, DATA_DIRECTORY: join(directory, 'data'), ...(options as { env?: object }).env },
  });

/** The record of `npm start`, as if this test process ran the product. */
const recordProduct = (): string => {
  const stat = readFileSync('/proc/self/stat', 'utf8');
  const startTime = stat.slice(stat.lastIndexOf(')') + 2).split(' ')[19];
  const file = join(directory, 'data/processes.json');
  const supervisor = { pid: process.pid, startTime, url: 'http://127.0.0.1:8080' };
  mkdirSync(join(directory, 'data'), { recursive: true });
  writeFileSync(file, JSON.stringify({ supervisor, children: [] }));
  return file;
};

describe('a clone without packages', () => {
  /** A clone in which `npm` is a program of this test. */
  const cloneWith = (npm: string): { env: object; cwd: string } => {
    for (const part of [
      'scripts',
      'package.json',
      'package-lock.json',
      'packages/shared/src/kernel/progress.mjs',
    ])
      cpSync(join(root, part), join(directory, 'clone', part), { recursive: true });
    mkdirSync(join(directory, 'bin'));
    writeFileSync(join(directory, 'bin/npm'), `#!/bin/sh\n${npm}\n`);
    chmodSync(join(directory, 'bin/npm'), 0o755);
    return { env: { PATH: `${join(directory, 'bin')}:${process.env.PATH}` }, cwd: join(directory, 'clone') };
  };

  test("scripts and package programs run with the project's Node after installation, and stdout is theirs", () => {
    const clone = cloneWith(`ln -sfn '${join(root, 'node_modules')}' node_modules`);
    writeFileSync(join(clone.cwd, 'version.mjs'), 'console.log(process.argv[2], process.execPath)');
    const script = run(process.execPath, ['scripts/run.mjs', 'version.mjs', 'one'], clone);
    expect([script.status, script.stdout]).toEqual([0, `one ${nodeBinary}\n`]);
    expect(script.stderr).toContain('installing with npm ci');
    const program = run(process.execPath, ['scripts/run.mjs', 'biome', '--version'], clone);
    expect([program.status, program.stdout]).toEqual([0, expect.stringContaining('Version')]);
  });

  describe('what npm installs', () => {
    type Packages = Record<string, { version?: string; dev?: boolean; optional?: boolean }>;
    const all: Packages = JSON.parse(read('package-lock.json')).packages;
    const production = Object.fromEntries(Object.entries(all).filter(([, { dev }]) => dev !== true));
    const { 'node_modules/@fitness/shared': _link, ...withoutWorkspace } = production;
    /** The arguments that npm gets in a clone with these packages, and what remains of an incomplete one. */
    const installIn = (installed: Packages | undefined, ...options: string[]) => {
      const clone = cloneWith('echo "$*" >npm.txt');
      for (const name of ['node/bin', 'fastify', 'jest'])
        mkdirSync(join(clone.cwd, 'node_modules', name), { recursive: true });
      symlinkSync(nodeBinary, join(clone.cwd, 'node_modules/node/bin/node'));
      if (installed !== undefined)
        writeFileSync(
          join(clone.cwd, 'node_modules/.package-lock.json'),
          JSON.stringify({ packages: installed }),
        );
      // Types that are up to date.
      const types = ['proto/gen', 'docs/api', 'packages/client/src/generated/schema.ts'];
      for (const path of types) mkdirSync(join(clone.cwd, path), { recursive: true });
      writeFileSync(join(clone.cwd, 'script.mjs'), '');
      expect(run(process.execPath, ['scripts/run.mjs', ...options, 'script.mjs'], clone)).toMatchObject({
        status: 0,
      });
      const npm = join(clone.cwd, 'npm.txt');
      return {
        npm: existsSync(npm)
          ? /^(?:ci|install --no-save) --\w+=dev/.exec(readFileSync(npm, 'utf8'))?.[0]
          : '',
        remains: ['fastify', 'jest'].filter((name) => existsSync(join(clone.cwd, 'node_modules', name))),
      };
    };

    test.each([
      ['the packages for production', 'ci --omit=dev', undefined, []],
      ['all packages for a command that needs them', 'ci --include=dev', undefined, ['--include=dev']],
      ['nothing if those for production are installed', '', production, []],
      ['nothing if all are installed', '', all, ['--include=dev']],
      ['all where all were installed before', 'ci --include=dev', { ...all, 'node_modules/zod': {} }, []],
      ['the packages again for a new workspace', 'ci --omit=dev', withoutWorkspace, []],
    ])('npm installs %s', (_what, expected, installed, options) => {
      expect(installIn(installed, ...options).npm).toBe(expected);
    });

    test('the packages for development are added to the others, which stay in place, and incomplete ones are replaced', () => {
      expect(installIn(production, '--include=dev')).toEqual({
        npm: 'install --no-save --include=dev',
        remains: ['fastify'],
      });
    });
  });

  describe('several commands that install', () => {
    /** Starts a command. npm waits for the file `go`; the file `npm.txt` has its process ids. */
    const begin = (clone: { env: object; cwd: string }) => {
      const child = spawn(process.execPath, ['scripts/run.mjs', 'script.mjs'], {
        cwd: clone.cwd,
        env: { ...environment, ...clone.env, DATA_DIRECTORY: join(directory, 'data') },
      });
      let shown = '';
      child.stderr.on('data', (chunk: Buffer) => {
        shown += chunk.toString('utf8');
      });
      const untilShown = async (text: string) => {
        while (!shown.includes(text)) await once(child.stderr, 'data');
      };
      return { child, untilShown, ended: once(child, 'close') };
    };
    const slowClone = () => {
      const modules = join(root, 'node_modules');
      const clone = cloneWith(
        `echo $$ >>npm.txt; until [ -e go ]; do sleep 0.05; done; ln -sfn '${modules}' node_modules`,
      );
      writeFileSync(join(clone.cwd, 'script.mjs'), '');
      const npms = () => {
        const file = join(clone.cwd, 'npm.txt');
        return existsSync(file) ? (readFileSync(file, 'utf8').match(/^\d+$/gm) ?? []) : [];
      };
      return { clone, npms, go: () => writeFileSync(join(clone.cwd, 'go'), '') };
    };

    test('commands wait until another one has installed the packages', async () => {
      const { clone, npms, go } = slowClone();
      const first = begin(clone);
      await first.untilShown('installing with npm ci');
      const waiting = Array.from({ length: 4 }, () => begin(clone));
      for (const { untilShown } of waiting) await untilShown('waiting for another command');
      go();
      const ended = await Promise.all([first, ...waiting].map((command) => command.ended));
      expect(ended).toEqual(ended.map(() => [0, null]));
      expect(npms()).toHaveLength(1);
    });

    test('a command ends the npm of a killed one, and installs the packages itself', async () => {
      const { clone, npms, go } = slowClone();
      const killed = begin(clone);
      const record = join(clone.cwd, '.data/installation.json');
      const isRecorded = () => existsSync(record) && readFileSync(record, 'utf8').includes('"npm"');
      while (!isRecorded() || npms().length < 1) await setImmediate();
      killed.child.kill('SIGKILL');
      await killed.ended;
      const next = begin(clone);
      while (npms().length < 2) await setImmediate();
      const isLeft = startTimeOf(Number(npms()[0])) !== undefined;
      go();
      expect([await next.ended, isLeft]).toEqual([[0, null], false]);
    });
  });

  test('a failed installation is explained without a stack', () => {
    const clone = cloneWith('echo "npm error network"; exit 1');
    const { status, stderr } = run(process.execPath, ['scripts/run.mjs', 'version.mjs'], clone);
    expect([status, stderr]).toEqual([1, expect.stringContaining('npm ci failed; the end of its log:')]);
    expect(stderr).toContain('npm error network');
    expect(stderr).not.toMatch(/^\s+at /m);
  });
});

describe('the arguments of npm start', () => {
  /** What `npm start` with these arguments says before it ends with 1. */
  const refusalOf = async (args: readonly string[]): Promise<string> => {
    const child = spawn(process.execPath, ['scripts/start.mjs', ...args], {
      cwd: root,
      env: { ...environment, DATA_DIRECTORY: join(directory, 'data') },
      stdio: ['ignore', 'ignore', 'pipe'],
    });
    const [said, [status]] = await Promise.all([text(child.stderr), once(child, 'exit')]);
    expect([args, status]).toEqual([args, 1]);
    return said;
  };
  const refusals = async (cases: readonly (readonly [args: readonly string[], said: string])[]) => {
    const said = await Promise.all(cases.map(async ([args]) => [args, await refusalOf(args)]));
    expect(said).toEqual(cases);
  };

  test('a second npm start says that the product is already running, where, and how to end it', async () => {
    recordProduct();
    const said = `The product is already running: http://127.0.0.1:8080. Ctrl-C in its terminal or \`kill ${process.pid}\` ends it.\n`;
    await refusals([
      [[], said],
      [['--dev', 'wallet'], said],
      // Further replicas have numbers.
      [['--dev', 'wallet-2', '--replicas', '2'], said],
    ]);
  });

  test('npm start rejects wrong arguments in one sentence, and npm run dev lists the existing processes', async () => {
    const names = 'sandbox, identity, wallet, gyms, content, media, store-billing, gateway';
    await refusals([
      [['--dev', 'nobody'], `There is no process "nobody"; there are: ${names}.\n`],
      [['--dev', 'wallet-2'], `There is no process "wallet-2"; there are: ${names}.\n`],
      [['--replicas', '0'], '--replicas takes a whole number from 1 to 5; not "0".\n'],
      [['--replicas=1.5'], '--replicas takes a whole number from 1 to 5; not "1.5".\n'],
      [['--replicas', '12'], '--replicas takes a whole number from 1 to 5; not "12".\n'],
      [['--replicas'], '--replicas takes a whole number from 1 to 5.\n'],
      [['2'], 'npm start takes --replicas <number>; not "2".\n'],
      [['--dev', '--all'], 'npm run dev takes names of processes and --replicas <number>; not "--all".\n'],
    ]);
  });
});

describe('backup and restore on one machine', () => {
  const put = (name: string, content = ''): void => {
    const file = join(directory, 'data', name);
    mkdirSync(dirname(file), { recursive: true });
    writeFileSync(file, content);
  };
  const backUp = (target = join(directory, 'backup'), env = {}) =>
    run(process.execPath, ['scripts/backup.mjs', target], { env });
  const restore = (...args: string[]) =>
    run(process.execPath, [
      ...['scripts/restore.mjs', join(directory, 'backup'), '--operator', 'Sara', '--overwrite', ...args],
    ]);
  const refused = (why: string) => ({ status: 1, stderr: expect.stringContaining(why) });
  const putData = (): void => {
    for (const name of ['mongodb-mongod/WiredTiger', 'rabbitmq/enabled_plugins', 'oauth-secret']) put(name);
    put('servers.json', JSON.stringify({ MongoDB: 'mongod', given: [] }));
    for (const name of JOURNALS) put(`journal/${name}/1-a.done.json`, '{"user_id":1}');
  };

  test('a backup is refused if a server was given by its address or the data has no database or journal', () => {
    put('oauth-secret', 'secret');
    expect(backUp()).toMatchObject(refused('no data of MongoDB and RabbitMQ'));
    put('mongodb-mongod/WiredTiger');
    put('rabbitmq/enabled_plugins');
    put('servers.json', JSON.stringify({ MongoDB: 'mongod', given: ['Redis', 'MongoDB'] }));
    expect(backUp()).toMatchObject(refused('The data of MongoDB is in a server that was given'));
    put('servers.json', JSON.stringify({ MongoDB: 'mongod', given: ['Redis'] }));
    expect(backUp()).toMatchObject(refused('there is no journal'));
    put('journal/erasures/1-a.done.json');
    expect(backUp()).toMatchObject({ status: 0, stdout: expect.stringContaining('4 files') });
  });

  test('a backup is refused for a target inside the data, without room or not writable, and leaves nothing there', () => {
    putData();
    expect(backUp(join(directory, 'data/backups/first'))).toMatchObject(refused('is inside'));
    symlinkSync(join(directory, 'data'), join(directory, 'link'));
    expect(backUp(join(directory, 'link/first'))).toMatchObject(refused('is inside'));
    expect(backUp(join(directory, 'data/oauth-secret/first'))).toMatchObject(refused('is inside'));
    put('../file');
    expect(backUp(join(directory, 'file/first'))).toMatchObject(refused('No backup can be written'));
    put('mongodb-mongod/large');
    truncateSync(join(directory, 'data/mongodb-mongod/large'), 2 ** 43);
    expect(backUp()).toMatchObject(refused('has room for'));
    rmSync(join(directory, 'data/mongodb-mongod/large'));
    // A link without a target cannot be copied.
    symlinkSync('nowhere', join(directory, 'data/mongodb-mongod/broken'));
    expect(backUp()).toMatchObject(refused('mongodb-mongod/broken'));
    expect(readdirSync(directory).sort()).toEqual(['data', 'file', 'link']);
    expect(readdirSync(join(directory, 'data'))).not.toContain('backups');
  });

  test('parts that a killed npm start leaves running are named, and neither copied nor replaced', () => {
    putData();
    expect(backUp().status).toBe(0);
    const self = { pid: process.pid, startTime: startTimeOf(process.pid) };
    const children = ['mongodb', 'wallet', 'sandbox'].map((name) => ({ name, ...self }));
    put('processes.json', JSON.stringify({ supervisor: { pid: process.pid, startTime: '1' }, children }));
    const why = `without npm start: mongodb, wallet. End them first, with \`kill ${process.pid} ${process.pid}\``;
    expect(backUp(join(directory, 'second'))).toMatchObject(refused(why));
    expect(restore('--without-journal')).toMatchObject(refused(why));
    expect(existsSync(join(directory, 'data/restore-unfinished'))).toBe(false);
  });

  test('only one of backup, restore and start works on the data, until its process has ended', () => {
    putData();
    expect(backUp().status).toBe(0);
    const claim = (startTime?: string) =>
      put('standstill.json', JSON.stringify({ supervisor: { pid: process.pid, startTime }, children: [] }));
    claim(startTimeOf(process.pid));
    const why = `Process ${process.pid} is starting, backing up or restoring the product`;
    expect(backUp(join(directory, 'second'))).toMatchObject(refused(why));
    expect(restore('--without-journal')).toMatchObject(refused(why));
    expect(run(process.execPath, ['scripts/start.mjs'])).toMatchObject(refused(why));
    claim('1');
    expect(backUp(join(directory, 'second')).status).toBe(0);
  });

  test('backup and restore refuse other folders than those of the last npm start, and name them', () => {
    putData();
    const start = (given: object): void => {
      const script = `
        import { writeEnvironment } from ${JSON.stringify(join(root, 'scripts/lib/operator-environment.mjs'))};
        const own = { MONGODB_URI: 'mongodb://own', JOURNAL_DIRECTORY: process.env.DATA_DIRECTORY + '/journal' };
        writeEnvironment('identity', { ...own, ...process.env });`;
      const started = run(process.execPath, ['--input-type=module', '-e', script], { env: given });
      expect(started).toMatchObject({ status: 0, stderr: '' });
    };
    const own = join(directory, 'data/journal');
    const other = join(directory, 'journal');
    start({ JOURNAL_DIRECTORY: other });
    const isNamed = refused(`had the journals in ${other}, and npm run backup would use those in ${own}`);
    expect(backUp()).toMatchObject(isNamed);
    cpSync(own, other, { recursive: true });
    expect(backUp(undefined, { JOURNAL_DIRECTORY: other })).toMatchObject({ status: 0 });
    expect(readdirSync(join(own, 'erasures'))).toEqual(['1-a.done.json']);
    expect(restore('--without-journal')).toMatchObject(refused(`npm run restore would use those in ${own}`));
    start({});
    const second = join(directory, 'second');
    expect(backUp(second, { JOURNAL_DIRECTORY: other })).toMatchObject(refused(`had the journals in ${own}`));
    expect(backUp(second)).toMatchObject({ status: 0 });
    start({ MEDIA_DIRECTORY: join(directory, 'media') });
    expect(backUp(join(directory, 'third'))).toMatchObject(refused('MEDIA_DIRECTORY is set'));
  });

  test('a restore refuses a journal that is empty, older than the backup, incomplete or ends before the loss', () => {
    putData();
    cpSync(join(directory, 'data/journal'), join(directory, 'older'), { recursive: true });
    expect(backUp().status).toBe(0);
    // The next refusal after the journals.
    writeFileSync(join(directory, 'backup/data/oauth-secret'), 'changed');
    const accepted = refused('its checksum differs');
    const now = new Date(Date.now() - 60_000).toISOString();
    expect(restore('--lost-at', now)).toMatchObject(accepted);
    expect(restore()).toMatchObject({ status: 64 });
    const later = new Date(Date.now() + 60_000).toISOString();
    expect(restore('--lost-at', later)).toMatchObject(refused('before the loss of the data'));
    put('journal/deposits/2-b.begun.json', JSON.stringify({ user_id: 2, opened_at: later }));
    expect(restore('--lost-at', later)).toMatchObject({
      ...accepted,
      stdout: expect.stringContaining(`have 5 entries, the newest of ${later}.`),
    });
    rmSync(join(directory, 'data/journal/payouts'), { recursive: true });
    expect(restore('--lost-at', now)).toMatchObject(refused('payouts lacks the marker of the backup'));
    const replaced = join(directory, 'data/journal');
    rmSync(replaced, { recursive: true });
    cpSync(join(directory, 'older'), replaced, { recursive: true });
    expect(restore('--lost-at', now)).toMatchObject(refused('erasures lacks the marker of the backup'));
    rmSync(replaced, { recursive: true });
    for (const name of JOURNALS) mkdirSync(join(replaced, name), { recursive: true });
    expect(restore('--lost-at', now)).toMatchObject(refused('it is empty, or older than the backup'));
    expect(restore('--without-journal')).toMatchObject({
      ...accepted,
      stdout: expect.stringContaining('erased accounts come back'),
    });
  });

  test('a start records the given servers and keeps the engine of the existing data', async () => {
    const data = join(directory, 'data');
    put('servers.json', JSON.stringify({ MongoDB: 'mongod', RabbitMQ: 'broker' }));
    const script = `
      import { pick, serversOf } from ${JSON.stringify(join(root, 'scripts/lib/servers/candidate.mjs'))};
      const definition = { name: 'MongoDB', uriVariable: 'GIVEN_URI', check: async () => undefined, candidates: [] };
      await pick(definition, { directory: process.env.DATA_DIRECTORY, ephemeral: false });
      console.log(JSON.stringify(serversOf(process.env.DATA_DIRECTORY)));`;
    const started = run(process.execPath, ['--input-type=module', '-e', script], {
      env: { GIVEN_URI: 'mongodb://127.0.0.1', DATA_DIRECTORY: data },
    });
    expect(started.stderr).toBe('');
    expect(JSON.parse(started.stdout)).toEqual({
      engines: { MongoDB: 'mongod', RabbitMQ: 'broker' },
      given: ['MongoDB'],
    });
  });
});

test('a full disk is named in one sentence', () => {
  expect(fullDisk(0)).toBeUndefined();
  expect(fullDisk(Number.POSITIVE_INFINITY)).toMatch(
    /^The disk with \/.* is full \(\d+ MiB are left\): free some space and start again\.$/,
  );
  let error: unknown;
  try {
    writeFileSync('/dev/full', 'more');
  } catch (thrown) {
    error = thrown;
  }
  expect(explain('npm start', error)).toMatch(
    /^The disk is full \(.*ENOSPC: no space left on device, write\): free some space and start again\.$/,
  );
  expect(explain('npm start', 'refused')).toBe('npm start failed: refused');
});

describe('npm run logs', () => {
  const line = (second: number, service: string, msg: string): string =>
    `${JSON.stringify({ level: 'info', time: `2030-01-01T00:00:0${second}.000Z`, service, status: '200', msg })}\n`;
  const logs = (...names: string[]) => run(process.execPath, ['scripts/logs.mjs', ...names]);
  const write = (name: string, text: string): void => {
    mkdirSync(join(directory, 'data/logs'), { recursive: true });
    appendFileSync(join(directory, 'data/logs', `${name}.log`), text);
  };

  test('npm run logs shows the logs of all processes by time, readably, and ends when nothing runs', () => {
    write('wallet', `${line(1, 'wallet', 'first')}${line(3, 'wallet', 'third')}`);
    write('gateway', `${line(2, 'gateway', 'second')}could not start: no reason\n`);
    write('redis', 'a server, which is not shown unless it is named\n');
    const { status, stdout } = logs();
    expect([status, stdout.split('\n')]).toEqual([
      0,
      [
        expect.stringMatching(/^wallet {2}\| \[[\d:.]+\] INFO: first \{"status":"200"\}$/),
        expect.stringMatching(/^gateway \| \[[\d:.]+\] INFO: second /),
        'gateway | could not start: no reason',
        expect.stringMatching(/^wallet {2}\| \[[\d:.]+\] INFO: third /),
        '',
      ],
    ]);
    expect(logs('redis').stdout).toBe('a server, which is not shown unless it is named\n');
  });

  test('npm run logs shows all replicas of a named process, or only the named replica', () => {
    write('wallet', line(1, 'wallet', 'first'));
    write('wallet-2', line(2, 'wallet', 'second'));
    for (const shown of [logs(), logs('wallet')])
      expect(shown.stdout).toMatch(/^wallet {3}\| .*first[^\n]*\nwallet-2 \| .*second[^\n]*\n$/);
    expect(logs('wallet-2').stdout).toMatch(/^\[[\d:.]+\] INFO: second[^\n]*\n$/);
  });

  test('npm run logs shows new lines while the product runs', async () => {
    const record = recordProduct();
    write('wallet', line(1, 'wallet', 'first'));
    const child = spawn(process.execPath, ['scripts/logs.mjs', 'wallet'], {
      cwd: root,
      env: { ...environment, DATA_DIRECTORY: join(directory, 'data') },
    });
    let shown = '';
    child.stdout.on('data', (chunk: Buffer) => {
      shown += chunk.toString('utf8');
    });
    const ended = once(child, 'close');
    while (!shown.includes('first')) await once(child.stdout, 'data');
    write('wallet', line(2, 'wallet', 'second'));
    while (!shown.includes('second')) await once(child.stdout, 'data');
    rmSync(record);
    expect(await ended).toEqual([0, null]);
    expect(shown.trimEnd().split('\n')).toHaveLength(2);
  });

  test('npm run logs lists the existing logs if one is missing', () => {
    const none = { status: 1, stderr: expect.stringContaining('There are no logs of the product in ') };
    expect(logs()).toMatchObject(none);
    expect(logs('wallet')).toMatchObject(none);
    write('npm-ci', 'added 1 package\n');
    expect(logs()).toMatchObject(none);
    write('wallet', line(1, 'wallet', 'first'));
    expect(logs('nobody')).toMatchObject({
      status: 1,
      stderr: 'There is no log "nobody"; there are: npm-ci, wallet.\n',
    });
  });
});

test('npm run generate writes only what has changed, and --check names it', () => {
  const file = 'deploy/kubernetes/components/monitoring/prometheus-rule.yaml';
  for (const part of ['scripts', 'test/architecture', 'deploy/observability', file])
    cpSync(join(root, part), join(directory, part), { recursive: true });
  symlinkSync(join(root, 'node_modules'), join(directory, 'node_modules'));
  run('git', ['init', '--quiet'], { cwd: directory });
  const generate = (...args: string[]) =>
    run(nodeBinary, ['scripts/generate.mjs', ...args], { cwd: directory });
  const content = () => readFileSync(join(directory, file), 'utf8');
  expect(generate('alerts', '--check').status).toBe(0);
  appendFileSync(join(directory, file), '# changed by hand\n');
  expect(generate('alerts', '--check')).toMatchObject({
    status: 1,
    stderr: `Not up to date (npm run generate alerts): ${file}\n`,
  });
  expect(content()).not.toBe(read(file));
  expect(generate('alerts').stdout).toContain(file);
  expect(content()).toBe(read(file));
  expect(generate('alerts').stdout).toMatch(/^alerts .* unchanged\n$/);
});

test('types are written if they are missing or older than their source', () => {
  const sources = ['scripts', 'proto', 'docs/api', 'packages/client', 'package-lock.json'];
  for (const part of sources) cpSync(join(root, part), join(directory, part), { recursive: true });
  symlinkSync(join(root, 'node_modules'), join(directory, 'node_modules'));
  const [calls, client] = ['proto/gen', 'packages/client/src/generated/schema.ts'].map((target) =>
    join(directory, target),
  ) as [string, string];
  for (const target of [calls, client]) rmSync(target, { recursive: true });
  const write = (): [number, number] => {
    const { status, stderr } = run(
      nodeBinary,
      ['--eval', "import('./scripts/lib/generate/types.mjs').then(({ writeTypes }) => writeTypes())"],
      { cwd: directory },
    );
    expect([status, stderr]).toEqual([0, '']);
    return [statSync(calls).mtimeMs, statSync(client).mtimeMs];
  };
  const [first, ofClient] = write();
  expect(readFileSync(client, 'utf8')).toContain('"/api/v1/auth/login"');
  expect(readdirSync(calls)).toContain('identity.ts');
  expect(write()).toEqual([first, ofClient]);
  appendFileSync(join(directory, 'proto/identity/v1/identity.proto'), '// changed\n');
  const [second, unchanged] = write();
  expect([second > first, unchanged]).toEqual([true, ofClient]);
  const names = readdirSync(join(directory, 'proto'));
  expect(names.filter((name) => name.startsWith('gen'))).toEqual(['gen']);
});

test('npm run generate lists what it makes if a name is unknown', () => {
  const { status, stderr } = run(nodeBinary, ['scripts/generate.mjs', 'client', 'everything']);
  expect([status, stderr]).toEqual([
    1,
    expect.stringMatching(/^npm run generate takes settings, .*api-document; not "everything"\.\n$/),
  ]);
});

test('jest itself runs a test file, even under another Node', () => {
  const other = join(directory, 'node');
  cpSync(nodeBinary, other);
  const { status, stderr } = run(other, [
    'node_modules/.bin/jest',
    'packages/shared/src/kernel/progress.test.ts',
  ]);
  expect([status, stderr]).toEqual([0, expect.stringMatching(/^Tests: +\d+ passed, /m)]);
});

test('the hook of npm run hooks rejects a commit that is unformatted or breaks a rule', () => {
  const git = (...args: string[]) =>
    run('git', ['-c', 'user.name=a', '-c', 'user.email=a@example.com', ...args], { cwd: directory });
  const commit = (text: string) => {
    writeFileSync(join(directory, 'a.ts'), text);
    git('add', 'a.ts');
    return git('commit', '--quiet', '--message', 'a');
  };
  for (const file of ['biome.json', '.githooks', '.gitignore', 'tsconfig.json'])
    cpSync(join(root, file), join(directory, file), { recursive: true });
  symlinkSync(join(root, 'node_modules'), join(directory, 'node_modules'));
  git('init', '--quiet');
  git('config', 'core.hooksPath', '.githooks');
  expect(commit('export const a = "1"\n')).toMatchObject({
    status: 1,
    stderr: expect.stringContaining('npm run lint:fix'),
  });
  expect(commit('export const a: any = 1;\n').status).toBe(1);
  expect(commit("export const a = '1';\n").status).toBe(0);
});
