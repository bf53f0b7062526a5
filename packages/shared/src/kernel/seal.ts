/**
 * A hash chain over batches of records. Each record has a hash of its content; a seal contains the hashes of a batch of
 * records and the hash of the previous seal. A change to a sealed record breaks the chain.
 */
import { createHash } from 'node:crypto';

/** One record in a seal. The leaves of a seal are hashed together as one list; there is no Merkle tree. */
export interface Leaf {
  key: string;
  hash: string;
}

export interface Seal {
  /** Consecutive, from 1. */
  number: number;
  /** The hash of the previous seal; {@link GENESIS} for the first. */
  previous: string;
  hash: string;
  /** Ordered by key. */
  leaves: readonly Leaf[];
  sealedAt: Date;
}

export interface SealedRecord extends Leaf {
  /** The number of its seal, null until it is sealed. */
  seal: number | null;
}

/** The result of an audit as a sentence for the operator. Undefined if there is no difference. */
export type Difference = string | undefined;

/** Hexadecimal SHA-256 of the fields as JSON, which keeps their boundaries unambiguous. */
export const hashOf = (fields: readonly unknown[]): string =>
  createHash('sha256').update(JSON.stringify(fields)).digest('hex');

export const GENESIS = '0'.repeat(64);

export const sealHash = ({ number, previous, leaves, sealedAt }: Omit<Seal, 'hash'>): string =>
  hashOf([number, previous, leaves.map(({ key, hash }) => [key, hash]), sealedAt.toISOString()]);

/** `last`: the previous seal; undefined for the first one. */
export const nextSeal = (last: Seal | undefined, records: readonly Leaf[], sealedAt: Date): Seal => {
  const leaves = records
    .map(({ key, hash }) => ({ key, hash }))
    .sort((one, other) => (one.key < other.key ? -1 : 1));
  const body = { number: (last?.number ?? 0) + 1, previous: last?.hash ?? GENESIS, leaves, sealedAt };
  return { ...body, hash: sealHash(body) };
};

/** The head of the chain as text, `12:ab34…`. */
export const headText = ({ number, hash }: Pick<Seal, 'number' | 'hash'>): string => `${number}:${hash}`;

/** A {@link headText} that was noted earlier. */
export type NotedHead = Pick<Seal, 'number' | 'hash'>;

const HEAD = /^([1-9]\d{0,14}):([0-9a-f]{64})$/;

/** Parses {@link headText}; undefined for any other text. */
export const readHead = (text: string): NotedHead | undefined => {
  const [, number, hash] = HEAD.exec(text.trim()) ?? [];
  return hash === undefined ? undefined : { number: Number(number), hash };
};

/** Checks a seal against the one before it; `last` is undefined for the first. */
export const differenceOfSeal = (seal: Seal, last: Seal | undefined): Difference => {
  const expected = (last?.number ?? 0) + 1;
  if (seal.number !== expected) return `seal ${expected} does not exist`;
  if (seal.previous !== (last?.hash ?? GENESIS))
    return `seal ${seal.number} does not follow the seal before it`;
  return sealHash(seal) === seal.hash ? undefined : `seal ${seal.number} is not what was sealed`;
};

/**
 * Checks a seal against its records: those listed in the seal and those marked with its number. The records of the
 * newest seal may not be marked yet.
 */
export const differenceOfLeaves = <Entry extends SealedRecord>(
  seal: Seal,
  records: readonly Entry[],
  { isNewest, isIntact }: { isNewest: boolean; isIntact: (record: Entry) => boolean },
): Difference => {
  const byKey = new Map(records.map((record) => [record.key, record]));
  for (const { key, hash } of seal.leaves) {
    const record = byKey.get(key);
    if (record === undefined) return `entry ${key}, sealed in ${seal.number}, does not exist`;
    if (!isIntact(record) || record.hash !== hash)
      return `entry ${key} is not what was sealed in ${seal.number}`;
    if (record.seal !== seal.number && !(record.seal === null && isNewest))
      return `entry ${key} is sealed in ${seal.number}, but not marked with it`;
    byKey.delete(key);
  }
  const [unlisted] = byKey.keys();
  return unlisted === undefined
    ? undefined
    : `entry ${unlisted} is marked with seal ${seal.number}, which does not contain it`;
};
