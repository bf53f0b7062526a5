/** The collections of the audit log. Every service's database has them, and one beside it has the seals. */
import type { Connection, Model } from 'mongoose';
import { SECOND_MS } from '../kernel/clock.ts';
import type { ProcessName } from '../kernel/process-name.ts';
import { hashOf, type SealedRecord } from '../kernel/seal.ts';
import { erase, pseudonymise, retain, schemaOf } from '../mongo/privacy.ts';
import { type SealDocument, sealSchemaOf } from '../mongo/seals.ts';

/** An entry without its hash and its seal. */
export interface AuditContent {
  /** See {@link auditId}. */
  _id: number;
  service: string;
  at: Date;
  /** Null for a command that was run on the servers. */
  actor_id: number | null;
  action: string;
  subject_type: string;
  subject_id: number | null;
  request_id: string | null;
  /** JSON of `StoredField[]`; null if there was no such state. It is text, so the hash covers every byte. */
  before: string | null;
  after: string | null;
}

export interface AuditEntryDocument extends AuditContent {
  hash: string;
  seal: number | null;
}

export interface AuditKeyDocument {
  /** The id of the account. */
  _id: number;
  /** Base64; null once the account is erased. */
  key: string | null;
}

/** Services with an audit log in their database. The order never changes, because it is a part of the ids. */
export const AUDITED_SERVICES = [
  'identity',
  'wallet',
  'gyms',
  'content',
  'media',
  'store-billing',
] as const satisfies readonly ProcessName[];
export type AuditedService = (typeof AUDITED_SERVICES)[number];

export const isAudited = (service: string): service is AuditedService =>
  (AUDITED_SERVICES as readonly string[]).includes(service);

/** Number of ids reserved for services, including future ones. */
const SLOTS = 8;
const PER_SECOND = 200_000;

/**
 * The id of an entry: larger than the ids of every earlier second, and unique over all services. Chains are merged and periods
 * are read by the id alone. It is exact in a number until the year 2148.
 */
export const auditId = (service: string, at: Date, number: number): number => {
  const slot = (AUDITED_SERVICES as readonly string[]).indexOf(service);
  return smallestAuditId(at) + (number % PER_SECOND) * SLOTS + (slot < 0 ? SLOTS - 1 : slot);
};

/** Every entry of this second or later has this id or a larger one. */
export const smallestAuditId = (at: Date): number =>
  Math.floor(at.getTime() / SECOND_MS) * PER_SECOND * SLOTS;

export const auditHash = (entry: AuditContent): string =>
  hashOf([
    entry._id,
    entry.service,
    entry.at.toISOString(),
    entry.actor_id,
    entry.action,
    entry.subject_type,
    entry.subject_id,
    entry.request_id,
    entry.before,
    entry.after,
  ]);

/** An entry as the chain sees it. */
export type SealedAuditEntry = SealedRecord & { document: AuditEntryDocument };

export const toSealed = (document: AuditEntryDocument): SealedAuditEntry => ({
  key: String(document._id),
  hash: document.hash,
  seal: document.seal,
  document,
});

export const isAuditEntryIntact = ({ document, hash }: SealedAuditEntry): boolean =>
  auditHash(document) === hash;

const maybeText = { type: String, default: null };
const maybeNumber = { type: Number, default: null };

const entrySchema = schemaOf<AuditEntryDocument>(
  { collection: 'audit_entries', versionKey: false },
  pseudonymise('the numbers of the operator and of what they changed', {
    actor_id: maybeNumber,
    subject_id: maybeNumber,
  }),
  retain('what operators did, unchangeable', {
    _id: { type: Number, required: true },
    service: { type: String, required: true },
    at: { type: Date, required: true },
    action: { type: String, required: true },
    subject_type: { type: String, required: true },
    request_id: maybeText,
    hash: { type: String, required: true },
    seal: maybeNumber,
  }),
  retain('personal values in it are encrypted under a key of the person that is erased', {
    before: maybeText,
    after: maybeText,
  }),
)
  // Each filter of the list, newest first. The list without a filter is that of the service.
  .index({ service: 1, _id: -1 })
  .index({ actor_id: 1, _id: -1 })
  .index({ action: 1, _id: -1 })
  .index({ subject_type: 1, _id: -1 })
  .index({ subject_type: 1, subject_id: 1, _id: -1 })
  .index({ subject_id: 1, _id: -1 })
  .index({ seal: 1 });

const keySchema = schemaOf<AuditKeyDocument>(
  { collection: 'audit_keys', versionKey: false },
  erase('without it nobody can read the personal values in the audit log', { key: maybeText }),
  retain('the mark that the account is erased: it gets no new key', {
    _id: { type: Number, required: true },
  }),
);

const sealSchema = sealSchemaOf('audit_seals', 'hashes that the audit log is checked against');

export interface AuditModels {
  entries: Model<AuditEntryDocument>;
  keys: Model<AuditKeyDocument>;
  seals: Model<SealDocument>;
}

/** MongoDB allows 63 characters. */
const SEALS_SUFFIX = '_audit_seals';

/** The database of a service's seals, by the name of its main database. It is append-only for the service (ADR 53). */
export const auditSealsDatabase = (database: string): string => `${database}${SEALS_SUFFIX}`;

/** The connection to that database, which shares the sockets of `connection`. */
export const auditSealsOf = (connection: Connection): Connection =>
  connection.useDb(auditSealsDatabase(connection.name), { useCache: true });

/** The models of this connection, registered on first use. */
export const registerAuditModels = (connection: Connection): AuditModels => ({
  entries: connection.models.AuditEntry ?? connection.model<AuditEntryDocument>('AuditEntry', entrySchema),
  keys: connection.models.AuditKey ?? connection.model<AuditKeyDocument>('AuditKey', keySchema),
  seals: sealModel(auditSealsOf(connection)),
});

const sealModel = (connection: Connection): Model<SealDocument> =>
  connection.models.AuditSeal ?? connection.model<SealDocument>('AuditSeal', sealSchema);
