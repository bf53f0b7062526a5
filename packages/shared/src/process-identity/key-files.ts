/**
 * Makes the key pairs of the processes, and rotates them. In a directory: `private/<process>/` for one process alone, and
 * `public/` for all. Each step can be repeated after a crash.
 */
import { generateKeyPairSync } from 'node:crypto';
import { existsSync, mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import type { z } from 'zod';
import { PROCESSES, type ProcessName } from '../kernel/process-name.ts';
import { keyIdOf, PRIVATE_KEY_FILE, privateJwk, publicKeySet, publicKeysFile } from './process-keys.ts';

type PrivateKey = z.output<typeof privateJwk>;
type PublicKey = Pick<PrivateKey, 'kty' | 'crv' | 'x'>;

const NEXT_KEY_FILE = 'next.json';

/** The variables of one process, for keys that were made in `directory`. */
export const keyDirectories = (
  directory: string,
  process: ProcessName,
): { PRIVATE_KEY_DIRECTORY: string; PUBLIC_KEYS_DIRECTORY: string } => ({
  PRIVATE_KEY_DIRECTORY: join(directory, 'private', process),
  PUBLIC_KEYS_DIRECTORY: join(directory, 'public'),
});

const filesOf = (directory: string, process: ProcessName) => {
  const { PRIVATE_KEY_DIRECTORY, PUBLIC_KEYS_DIRECTORY } = keyDirectories(directory, process);
  return {
    current: join(PRIVATE_KEY_DIRECTORY, PRIVATE_KEY_FILE),
    next: join(PRIVATE_KEY_DIRECTORY, NEXT_KEY_FILE),
    published: join(PUBLIC_KEYS_DIRECTORY, publicKeysFile(process)),
  };
};

/** Makes the missing keys. Returns the processes with a new one. */
export const createMissingKeys = (directory: string): ProcessName[] =>
  PROCESSES.filter((process) => {
    const { current, published } = filesOf(directory, process);
    const isNew = !existsSync(current);
    const key = isNew ? generateKey() : readPrivateKey(current);
    if (isNew) writeSecret(current, key);
    const existingKeys = existsSync(published) ? readPublicKeys(published) : [];
    if (!existingKeys.some((other) => keyIdOf(other) === keyIdOf(key))) publish(published, [key]);
    return isNew;
  });

/** First step of a rotation: the next key is published; the process still signs with the current one. */
export const beginRotation = (directory: string, process: ProcessName): void => {
  const { current, next, published } = filesOf(directory, process);
  if (!existsSync(next)) writeSecret(next, generateKey());
  publish(published, [readPrivateKey(current), readPrivateKey(next)]);
};

/** Second step, when every process has read the public key: the process signs with the next key. */
export const switchKey = (directory: string, process: ProcessName): void => {
  const { current, next } = filesOf(directory, process);
  if (existsSync(next)) renameSync(next, current);
};

/** Last step, when no signature of the old key is valid any more: the old key is refused. */
export const finishRotation = (directory: string, process: ProcessName): void => {
  const { current, next, published } = filesOf(directory, process);
  // This file exists if a rotation was begun again after its second step.
  rmSync(next, { force: true });
  publish(published, [readPrivateKey(current)]);
};

const generateKey = (): PrivateKey =>
  privateJwk.parse(generateKeyPairSync('ed25519').privateKey.export({ format: 'jwk' }));

const readPrivateKey = (file: string): PrivateKey => privateJwk.parse(JSON.parse(readFileSync(file, 'utf8')));

const readPublicKeys = (file: string): PublicKey[] =>
  publicKeySet.parse(JSON.parse(readFileSync(file, 'utf8'))).keys;

const publish = (file: string, keys: readonly PublicKey[]): void => {
  mkdirSync(dirname(file), { recursive: true });
  const set = keys.map((key) => ({
    kty: key.kty,
    crv: key.crv,
    x: key.x,
    kid: keyIdOf(key),
    alg: 'EdDSA',
    use: 'sig',
  }));
  replace(file, { keys: set }, 0o644);
};

const writeSecret = (file: string, key: PrivateKey): void => {
  mkdirSync(dirname(file), { recursive: true, mode: 0o700 });
  replace(file, key, 0o600);
};

/** Replaces a file atomically, so no process reads a partial file. */
const replace = (file: string, content: object, mode: number): void => {
  const unfinished = `${file}.new`;
  writeFileSync(unfinished, `${JSON.stringify(content, null, 2)}\n`, { mode });
  renameSync(unfinished, file);
};
