/**
 * The hash chain over the ledger. Each entry has a hash of its content; a seal contains the hashes of a batch of entries
 * and the hash of the previous seal. A change to a sealed entry breaks the chain.
 */
import { createHash } from 'node:crypto';
import type { LedgerEntry } from './ledger.ts';

/** One entry in a seal. The leaves of a seal are hashed together as one list; there is no Merkle tree. */
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

/** An entry as it is stored. */
export interface BookedEntry extends LedgerEntry {
  bookedAt: Date;
  /** Of its content when it was booked. */
  hash: string;
  /** The number of its seal, null until it is sealed. */
  seal: number | null;
}

/** Hexadecimal SHA-256 of the fields as JSON, which keeps their boundaries unambiguous. */
const hashOf = (fields: readonly unknown[]): string =>
  createHash('sha256').update(JSON.stringify(fields)).digest('hex');

export const GENESIS = '0'.repeat(64);

/** Covers every field that never changes after the booking. */
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

/** `last`: the previous seal; undefined for the first one. */
export const nextSeal = (last: Seal | undefined, entries: readonly Leaf[], sealedAt: Date): Seal => {
  const leaves = entries
    .map(({ key, hash }) => ({ key, hash }))
    .sort((one, other) => (one.key < other.key ? -1 : 1));
  const body = { number: (last?.number ?? 0) + 1, previous: last?.hash ?? GENESIS, leaves, sealedAt };
  return { ...body, hash: sealHash(body) };
};

/** The head of the chain as text, `12:ab34…`. */
export const headText = ({ number, hash }: Pick<Seal, 'number' | 'hash'>): string => `${number}:${hash}`;

const HEAD = /^([1-9]\d{0,14}):([0-9a-f]{64})$/;

/** Parses {@link headText}; undefined for any other text. */
export const readHead = (text: string): { number: number; hash: string } | undefined => {
  const [, number, hash] = HEAD.exec(text.trim()) ?? [];
  return hash === undefined ? undefined : { number: Number(number), hash };
};
