/** The order of deploy/compose-backup.sh, with a stand-in for Docker: the script has never run on the real one. */
import { spawnSync } from 'node:child_process';
import {
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from '@jest/globals';
import { root } from './support.ts';

const DOCKER = `#!/bin/sh
printf '%s\\n' "$*" >> "$RECORD"
case "$*" in
  *mongodump*) [ -z "\${FAILS:-}" ] || exit 3; printf dump ;;
  *printenv*) printf '%s' "$STORAGE" ;;
  *tar*) printf files ;;
esac
`;

let scratch = '';
beforeEach(() => {
  scratch = mkdtempSync(join(tmpdir(), 'compose-backup-'));
  writeFileSync(join(scratch, 'docker'), DOCKER, { mode: 0o755 });
});
afterEach(() => rmSync(scratch, { recursive: true, force: true }));

const backUp = (env: Record<string, string> = {}) => {
  const { status, stdout } = spawnSync(
    join(root, 'deploy/compose-backup.sh'),
    [join(scratch, 'backups'), '--file', 'docker-compose.yml'],
    {
      env: {
        PATH: `${scratch}:${process.env.PATH}`,
        RECORD: join(scratch, 'commands'),
        STORAGE: 'local',
        ...env,
      },
      encoding: 'utf8',
    },
  );
  return { status, directory: stdout.trim().split('\n').at(-1) ?? '' };
};

/** `<service> <first word of the command>` of each call. */
const calls = (): string[] =>
  [
    ...readFileSync(join(scratch, 'commands'), 'utf8').matchAll(
      /^compose --file docker-compose\.yml exec -T (\S+ \S+)/gm,
    ),
  ].map(([, call = '']) => call);

const journals = (program: string) =>
  ['identity', 'wallet', 'store-billing'].map((name) => `${name} ${program}`);

test('a backup marks the journals first, copies the files last, and then deletes what is too old', () => {
  const old = join(scratch, 'backups/2020-01-02T03-30-00Z');
  mkdirSync(old, { recursive: true });
  utimesSync(old, 0, 0);
  const { status, directory } = backUp();
  expect(status).toBe(0);
  expect(calls()).toEqual([
    ...journals('node'),
    'mongodb sh',
    'media printenv',
    'media sh',
    ...journals('find'),
  ]);
  expect(readdirSync(join(scratch, 'backups'))).toEqual([directory.split('/').at(-1)]);
  const contents = readdirSync(directory).map((file) => readFileSync(join(directory, file), 'utf8'));
  expect(contents).toEqual(['dump', 'files']);
});

test('files in a bucket are not copied', () => {
  expect(readdirSync(backUp({ STORAGE: 's3' }).directory)).toEqual(['dump.gz']);
});

test('a failed dump is no backup, and nothing older is deleted', () => {
  const old = join(scratch, 'backups/2020-01-02T03-30-00Z');
  mkdirSync(old, { recursive: true });
  utimesSync(old, 0, 0);
  expect(backUp({ FAILS: '1' }).status).not.toBe(0);
  expect(readdirSync(join(scratch, 'backups'))).toEqual([
    '2020-01-02T03-30-00Z',
    expect.stringMatching(/\.partial$/),
  ]);
  expect(calls().filter((call) => call.endsWith(' find'))).toEqual([]);
});

test('a retention that journals need to be longer is refused before anything is done', () => {
  expect(backUp({ BACKUP_DAYS: '4' }).status).toBe(64);
  expect(readdirSync(scratch)).toEqual(['docker']);
});
