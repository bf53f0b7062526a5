/**
 * The Ed25519 keys by which processes identify each other (docs/adr/0053). A process holds its private key and the public
 * keys of all processes. The files are read again while it runs, so a rotation needs no restart.
 */
import { createHash, createPrivateKey, createPublicKey, type KeyObject } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { z } from 'zod';
import { ConfigError } from '../kernel/config.ts';
import { PROCESSES, type ProcessName } from '../kernel/process-name.ts';

/** In `PRIVATE_KEY_DIRECTORY`: a JWK (RFC 8037). */
export const PRIVATE_KEY_FILE = 'key.json';
/** In `PUBLIC_KEYS_DIRECTORY`: a JWK set (RFC 7517). */
export const publicKeysFile = (process: ProcessName): string => `${process}.json`;

/** During a rotation there are two: the old key and the new one. */
const MAX_PUBLIC_KEYS = 2;
/** How soon a new private key is used. */
const OWN_KEY_CHECK_MS = 1_000;
/** How soon a public key that was removed is refused. */
export const PUBLIC_KEYS_CHECK_MS = 10_000;
/**
 * An unknown key id causes an immediate read of the public keys: this many times in a row, then once a second. The limit exists
 * because anybody who reaches the port can send such an id.
 */
export const UNKNOWN_ID_READS = 5;

const publicJwk = z.object({
  kty: z.literal('OKP'),
  crv: z.literal('Ed25519'),
  x: z.string(),
  /** The private part, which must not occur among the public keys. */
  d: z.never('is a private key').optional(),
});
export const privateJwk = publicJwk.extend({ d: z.string() });
export const publicKeySet = z.object({ keys: z.array(publicJwk).min(1).max(MAX_PUBLIC_KEYS) });

interface SigningKey {
  id: string;
  key: KeyObject;
}

interface VerificationKey {
  /** The process that signs with it. */
  owner: ProcessName;
  key: KeyObject;
}

export interface ProcessKeys {
  process: ProcessName;
  /** The key to sign with now. */
  own(): SigningKey;
  find(id: string): VerificationKey | undefined;
}

interface ProcessKeysOptions {
  process: ProcessName;
  /** `PRIVATE_KEY_DIRECTORY` */
  privateDirectory: string;
  /** `PUBLIC_KEYS_DIRECTORY` */
  publicDirectory: string;
  /** Called when a file can no longer be read. The keys that were read from it before stay in use. */
  onProblem: (problem: Error) => void;
  /** For tests. */
  publicKeysCheckMs?: number;
  /** Milliseconds of a monotonic clock. */
  now?: () => number;
}

/** The key id (RFC 7638). It is the same for the private and the public key, so no file has to name it. */
export const keyIdOf = ({ crv, kty, x }: { crv: string; kty: string; x: string }): string =>
  createHash('sha256').update(JSON.stringify({ crv, kty, x })).digest('base64url');

/** Throws ConfigError, naming the variable, when a key is missing or this process's key is not among the public ones. */
export const openProcessKeys = (options: ProcessKeysOptions): ProcessKeys => {
  const { process, privateDirectory, publicDirectory, onProblem } = options;
  const { publicKeysCheckMs = PUBLIC_KEYS_CHECK_MS, now = () => performance.now() } = options;
  const readOwn = (): SigningKey => readPrivateKey(join(privateDirectory, PRIVATE_KEY_FILE));
  const readAll = (previous: PublicKeys, report: (problem: Error) => void): PublicKeys =>
    readPublicKeys(publicDirectory, previous, report);

  let own = configured('PRIVATE_KEY_DIRECTORY', readOwn);
  let publicKeys = configured('PUBLIC_KEYS_DIRECTORY', () => readAll(new Map(), throwIt));
  if (publicKeys.get(process)?.has(own.id) !== true) {
    throw new ConfigError(
      `Wrong configuration: PRIVATE_KEY_DIRECTORY: its key is not among the public keys of ${process}`,
    );
  }
  let ownReadAt = now();
  let allReadAt = now();
  const readsForUnknownIds = createBudget(UNKNOWN_ID_READS, now);

  const readAgain = (): void => {
    allReadAt = now();
    publicKeys = readAll(publicKeys, onProblem);
  };
  const lookUp = (id: string): VerificationKey | undefined => {
    for (const [owner, keys] of publicKeys) {
      const key = keys.get(id);
      if (key !== undefined) return { owner, key };
    }
    return undefined;
  };
  return {
    process,
    own: () => {
      if (now() - ownReadAt < OWN_KEY_CHECK_MS) return own;
      ownReadAt = now();
      try {
        own = readOwn();
      } catch (error) {
        onProblem(error as Error);
      }
      return own;
    },
    find: (id) => {
      if (now() - allReadAt >= publicKeysCheckMs) readAgain();
      const key = lookUp(id);
      if (key !== undefined || !readsForUnknownIds.take()) return key;
      readAgain();
      return lookUp(id);
    },
  };
};

/** Public keys by owner and id. */
type PublicKeys = ReadonlyMap<ProcessName, ReadonlyMap<string, KeyObject>>;

const throwIt = (problem: Error): never => {
  throw problem;
};

const configured = <T>(variable: string, read: () => T): T => {
  try {
    return read();
  } catch (error) {
    throw new ConfigError(`Wrong configuration: ${variable}: ${(error as Error).message}`);
  }
};

/** A budget of `capacity`, which is refilled by one each second. */
const createBudget = (capacity: number, now: () => number): { take(): boolean } => {
  let left = capacity;
  let countedAt = now();
  return {
    take: () => {
      left = Math.min(capacity, left + (now() - countedAt) / 1_000);
      countedAt = now();
      if (left < 1) return false;
      left -= 1;
      return true;
    },
  };
};

const readPublicKeys = (
  directory: string,
  previous: PublicKeys,
  report: (problem: Error) => void,
): PublicKeys => {
  const read = new Map<ProcessName, ReadonlyMap<string, KeyObject>>();
  for (const owner of PROCESSES) {
    let keys = previous.get(owner) ?? new Map<string, KeyObject>();
    try {
      keys = readPublicKeySet(join(directory, publicKeysFile(owner)));
    } catch (error) {
      report(error as Error);
    }
    read.set(owner, keys);
  }
  return read;
};

const readPublicKeySet = (file: string): ReadonlyMap<string, KeyObject> => {
  const { keys } = readJson(file, publicKeySet);
  return new Map(
    keys.map(({ kty, crv, x }) => [
      keyIdOf({ kty, crv, x }),
      importKey(file, () => createPublicKey({ key: { kty, crv, x }, format: 'jwk' })),
    ]),
  );
};

const readPrivateKey = (file: string): SigningKey => {
  const jwk = readJson(file, privateJwk);
  const { kty, crv, x, d } = jwk;
  return {
    id: keyIdOf(jwk),
    key: importKey(file, () => createPrivateKey({ key: { kty, crv, x, d }, format: 'jwk' })),
  };
};

/** Reads a file. Error messages name the file but contain nothing of its content. */
const readJson = <Schema extends z.ZodType>(file: string, schema: Schema): z.output<Schema> => {
  let value: unknown;
  try {
    value = JSON.parse(readFileSync(file, 'utf8'));
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    throw new Error(`${file} ${code === undefined ? 'is no JSON' : `cannot be read (${code})`}`);
  }
  const parsed = schema.safeParse(value);
  if (parsed.success) return parsed.data;
  const [issue] = parsed.error.issues;
  throw new Error(`${file}: ${issue?.path.join('.') || 'the file'} ${issue?.message}`);
};

const importKey = (file: string, create: () => KeyObject): KeyObject => {
  try {
    return create();
  } catch {
    throw new Error(`${file} contains no Ed25519 key`);
  }
};
