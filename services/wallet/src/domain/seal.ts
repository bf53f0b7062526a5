/**
 * The chain over the ledger. Each entry carries a hash of its content; a seal takes the hashes of a batch of entries
 * and the hash of the seal before it. Whoever changes, removes or exchanges what is sealed breaks the chain there.
 */
import { createHash } from 'node:crypto';
import type { LedgerEntry } from './ledger.ts';

/** What a seal holds of one entry. */
export interface Leaf {
  key: string;
  hash: string;
}

export interface Seal {
  /** From 1 on, without a gap. */
  number: number;
  /** The hash of the seal before it; of nothing for the first. */
  previous: string;
  hash: string;
  /** In the order of their keys. */
  leaves: readonly Leaf[];
  sealedAt: Date;
}

/** An entry as it is stored. */
export interface BookedEntry extends LedgerEntry {
  bookedAt: Date;
  /** Of its content when it was booked. */
  hash: string;
  /** The number of its seal, null until it is sealed. */
  seal: number | null;
}

/** Hexadecimal SHA-256; a list says without doubt where one field ends and the next begins. */
const hashOf = (fields: readonly unknown[]): string =>
  createHash('sha256').update(JSON.stringify(fields)).digest('hex');

/** What stands before the first seal. */
export const GENESIS = '0'.repeat(64);

/** Over everything that an entry says, and nothing that may change later. */
export const entryHash = (entry: LedgerEntry, bookedAt: Date): string =>
  hashOf([
    entry.key,
    entry.kind,
    entry.inputHash,
    entry.rows.map(({ account, amount }) => [account, amount]),
    entry.paymentIds,
    bookedAt.toISOString(),
  ]);

export const isIntact = (entry: BookedEntry): boolean => entryHash(entry, entry.bookedAt) === entry.hash;

export const sealHash = ({ number, previous, leaves, sealedAt }: Omit<Seal, 'hash'>): string =>
  hashOf([number, previous, leaves.map(({ key, hash }) => [key, hash]), sealedAt.toISOString()]);

/** The seal that comes after `last`; the first one comes after undefined. */
export const nextSeal = (last: Seal | undefined, entries: readonly Leaf[], sealedAt: Date): Seal => {
  const leaves = entries
    .map(({ key, hash }) => ({ key, hash }))
    .sort((one, other) => (one.key < other.key ? -1 : 1));
  const body = { number: (last?.number ?? 0) + 1, previous: last?.hash ?? GENESIS, leaves, sealedAt };
  return { ...body, hash: sealHash(body) };
};

/** Seal and hash as a person notes them, `12:ab34…`. */
export const headText = ({ number, hash }: Pick<Seal, 'number' | 'hash'>): string => `${number}:${hash}`;

const HEAD = /^([1-9]\d{0,14}):([0-9a-f]{64})$/;

/** Undefined for anything that {@link headText} did not write. */
export const readHead = (text: string): { number: number; hash: string } | undefined => {
  const [, number, hash] = HEAD.exec(text.trim()) ?? [];
  return hash === undefined ? undefined : { number: Number(number), hash };
};
