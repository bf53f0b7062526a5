import { mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { PROCESSES, type ProcessName } from '../kernel/process-name.ts';
import { beginRotation, createMissingKeys, finishRotation, keyDirectories, switchKey } from './key-files.ts';
import { openProcessKeys, UNKNOWN_ID_READS } from './process-keys.ts';

let directory: string;
beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), 'keys-'));
  createMissingKeys(directory);
});
afterEach(() => rmSync(directory, { recursive: true }));

const open = (process: ProcessName, { now = () => 0 }: { now?: () => number } = {}) => {
  const { PRIVATE_KEY_DIRECTORY, PUBLIC_KEYS_DIRECTORY } = keyDirectories(directory, process);
  const problems: string[] = [];
  const keys = openProcessKeys({
    process,
    privateDirectory: PRIVATE_KEY_DIRECTORY,
    publicDirectory: PUBLIC_KEYS_DIRECTORY,
    onProblem: ({ message }) => void problems.push(message),
    now,
  });
  return { keys, problems };
};

/** A process with a clock that the test sets. */
const openAt = (process: ProcessName) => {
  const time = { ms: 0 };
  return { ...open(process, { now: () => time.ms }), time };
};

const privateFile = (process: ProcessName): string => join(directory, 'private', process, 'key.json');
const publicFile = (process: ProcessName): string => join(directory, 'public', `${process}.json`);

describe('the files', () => {
  test('each process has its own key, which the others know', () => {
    const ids = PROCESSES.map((process) => open(process).keys.own().id);
    expect(new Set(ids).size).toBe(PROCESSES.length);
    const { keys } = open('wallet');
    expect(ids.map((id) => keys.find(id)?.owner)).toEqual([...PROCESSES]);
  });

  test('private key files are readable by their owner only, and public ones have no private part', () => {
    for (const process of PROCESSES) {
      expect(statSync(privateFile(process)).mode & 0o077).toBe(0);
      const { d } = JSON.parse(readFileSync(privateFile(process), 'utf8'));
      expect(d).toMatch(/^[\w-]{43}$/);
      expect(readFileSync(publicFile(process), 'utf8')).not.toContain(d);
    }
  });

  test('existing keys are kept, and a missing public key is written again', () => {
    const before = readFileSync(privateFile('wallet'), 'utf8');
    rmSync(publicFile('wallet'));
    rmSync(privateFile('gyms'));
    expect(createMissingKeys(directory)).toEqual(['gyms']);
    expect(readFileSync(privateFile('wallet'), 'utf8')).toBe(before);
    for (const process of ['wallet', 'gyms'] as const) {
      const { keys } = open(process);
      expect(keys.find(keys.own().id)?.owner).toBe(process);
    }
  });
});

describe('a start with invalid keys', () => {
  const refusalOf = (process: ProcessName): string => {
    try {
      open(process);
    } catch (error) {
      expect((error as Error).name).toBe('ConfigError');
      return (error as Error).message;
    }
    throw new Error('it started');
  };

  test.each([
    ['is missing', (file: string) => rmSync(file), /cannot be read \(ENOENT\)/],
    ['is no JSON', (file: string) => writeFileSync(file, 'swordfish'), /is no JSON/],
    ['is something else', (file: string) => writeFileSync(file, '{"k":"swordfish"}'), /json: \w/],
  ])(
    'a process does not start when a key file %s; the error names its variable and path only',
    (_how, spoil, expected) => {
      spoil(privateFile('wallet'));
      expect(refusalOf('wallet')).toMatch(/^Wrong configuration: PRIVATE_KEY_DIRECTORY: .*wallet\/key\.json/);
      expect(refusalOf('wallet')).toMatch(expected);
      spoil(publicFile('media'));
      expect(refusalOf('gyms')).toMatch(/^Wrong configuration: PUBLIC_KEYS_DIRECTORY: .*media\.json/);
      expect(refusalOf('gyms')).not.toContain('swordfish');
    },
  );

  test('a process does not start with the key of another process', () => {
    writeFileSync(privateFile('content'), readFileSync(privateFile('wallet')));
    expect(refusalOf('content')).toMatch(/PRIVATE_KEY_DIRECTORY: .* not among the public keys of content/);
  });

  test('a process does not start with a private key among the public ones', () => {
    writeFileSync(publicFile('gyms'), `{"keys":[${readFileSync(privateFile('gyms'), 'utf8')}]}`);
    expect(refusalOf('wallet')).toMatch(/PUBLIC_KEYS_DIRECTORY: .*gyms\.json: keys\.0\.d is a private key/);
  });

  test('a process does not start with three public keys of one process', () => {
    const sets = (['gyms', 'media', 'wallet'] as const).map(
      (process) => JSON.parse(readFileSync(publicFile(process), 'utf8')).keys[0],
    );
    writeFileSync(publicFile('gyms'), JSON.stringify({ keys: sets }));
    expect(refusalOf('wallet')).toMatch(/PUBLIC_KEYS_DIRECTORY: .*gyms\.json/);
  });
});

describe('a rotation', () => {
  test('running processes notice a rotation, and both keys are valid until its last step', () => {
    const content = openAt('content');
    const wallet = openAt('wallet');
    const old = content.keys.own().id;
    beginRotation(directory, 'content');
    content.time.ms += 1_000;
    expect(content.keys.own().id).toBe(old);
    switchKey(directory, 'content');
    content.time.ms += 1_000;
    const next = content.keys.own().id;
    expect(next).not.toBe(old);
    // An unknown id is looked up at once.
    expect(wallet.keys.find(next)?.owner).toBe('content');
    expect(wallet.keys.find(old)?.owner).toBe('content');
    finishRotation(directory, 'content');
    wallet.time.ms += 10_000;
    expect(wallet.keys.find(next)?.owner).toBe('content');
    expect(wallet.keys.find(old)).toBeUndefined();
    expect([content.problems, wallet.problems]).toEqual([[], []]);
  });

  test('a rotation whose steps are repeated has the same result', () => {
    const { keys } = open('content');
    const old = keys.own().id;
    for (const step of [beginRotation, switchKey, finishRotation]) {
      step(directory, 'content');
      step(directory, 'content');
      const now = open('content').keys;
      expect(now.find(now.own().id)?.owner).toBe('content');
    }
    expect(JSON.parse(readFileSync(publicFile('content'), 'utf8')).keys).toHaveLength(1);
    expect(open('content').keys.own().id).not.toBe(old);
  });

  test('a file that cannot be read later is reported, and the keys stay in use', () => {
    const wallet = openAt('wallet');
    const content = open('content').keys.own().id;
    const own = wallet.keys.own().id;
    writeFileSync(privateFile('wallet'), 'half of a');
    rmSync(publicFile('content'));
    wallet.time.ms += 10_000;
    expect(wallet.keys.own().id).toBe(own);
    expect(wallet.keys.find(content)?.owner).toBe('content');
    expect(wallet.problems).toEqual([
      expect.stringContaining('wallet/key.json'),
      expect.stringContaining('content.json'),
    ]);
  });
});

test('any number of unknown key ids cost a few reads, and then one per second', () => {
  const { keys, problems, time } = openAt('wallet');
  // Each read of the public keys reports this file.
  rmSync(publicFile('media'));
  const flood = (count: number): number => {
    const before = problems.length;
    for (let i = 0; i < count; i += 1) expect(keys.find(`unknown-${i}`)).toBeUndefined();
    return problems.length - before;
  };
  expect(flood(2_000)).toBe(UNKNOWN_ID_READS);
  expect(flood(2_000)).toBe(0);
  time.ms += 1_000;
  expect(flood(2_000)).toBe(1);
  time.ms += 3_000;
  expect(flood(2_000)).toBe(3);
  // Known ids cost no reads.
  const before = problems.length;
  for (let i = 0; i < 100; i += 1) expect(keys.find(keys.own().id)?.owner).toBe('wallet');
  expect(problems.length).toBe(before);
});
