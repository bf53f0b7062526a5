/** Verifies the chain of one audit log: names the first entry or seal that was changed, removed or inserted. */
import type { Connection } from 'mongoose';
import { NO_PROGRESS, type Progress } from '../kernel/progress.mjs';
import type { Difference, NotedHead, Seal } from '../kernel/seal.ts';
import { checkSeals } from '../mongo/check-seals.ts';
import { trusted } from '../mongo/connect.ts';
import { createSeals } from '../mongo/seals.ts';
import { inTransaction } from '../mongo/transaction.ts';
import {
  type AuditEntryDocument,
  type AuditModels,
  isAuditEntryIntact,
  registerAuditModels,
  type SealedAuditEntry,
  toSealed,
} from './models.ts';

const CHUNK = 500;

export interface AuditLogReport {
  entries: number;
  seals: number;
  /** The newest seal as `number:hash`; undefined when nothing is sealed, or after a difference. */
  head: string | undefined;
  /** Entries that were not sealed when the check began. */
  unsealed: number;
  /** The first difference. */
  difference: Difference;
}

/** The approximate number of progress steps of this log's check: each entry is read with its seal, and by itself. */
export const auditLogParts = async (connection: Connection): Promise<number> =>
  2 * (await registerAuditModels(connection).entries.estimatedDocumentCount());

/** `noted`: a head of an earlier check; the chain must still contain it. */
export const checkAuditLog = async (
  connection: Connection,
  service: string,
  noted?: NotedHead,
  progress: Progress = NO_PROGRESS,
): Promise<AuditLogReport> => {
  const models = registerAuditModels(connection);
  const seals = createSeals(models.seals);
  const unsealed = await models.entries.countDocuments({ seal: null });
  const checked = await checkSeals<SealedAuditEntry>(
    {
      seals,
      isIntact: isAuditEntryIntact,
      recordsOf: (seal) => recordsOf(connection, models, seal),
      progress,
    },
    noted,
  );
  const report = { entries: 0, seals: checked.seals, head: checked.head, unsealed };
  if (checked.difference !== undefined) return { ...report, difference: checked.difference };
  // The seals are numbered from 1 without a gap, which `checkSeals` has verified: their count is the newest number.
  let lastSeal = checked.seals;
  for (let lastId = 0; ; ) {
    const chunk = await models.entries
      .find({ _id: trusted({ $gt: lastId }) })
      .sort({ _id: 1 })
      .limit(CHUNK)
      .lean<AuditEntryDocument[]>();
    // This is read after the entries, because a seal is written before its entries are marked.
    lastSeal = (await seals.newest(lastSeal))?.number ?? 0;
    for (const document of chunk) {
      const difference = differenceOfEntry(document, service, lastSeal);
      if (difference !== undefined) return { ...report, head: undefined, difference };
      report.entries += 1;
      lastId = document._id;
    }
    progress.advance(`entries of ${service}`, chunk.length);
    if (chunk.length < CHUNK) return { ...report, difference: undefined };
  }
};

const differenceOfEntry = (document: AuditEntryDocument, service: string, lastSeal: number): Difference => {
  const { key, seal } = toSealed(document);
  if (!isAuditEntryIntact(toSealed(document))) return `entry ${key} is not what was stored`;
  if (document.service !== service) return `entry ${key} belongs to ${document.service}`;
  return seal !== null && (seal > lastSeal || seal < 1)
    ? `entry ${key} is marked with seal ${seal}, which does not exist`
    : undefined;
};

/** The records listed in a seal, and those marked with its number, in one snapshot. */
const recordsOf = (
  connection: Connection,
  { entries }: AuditModels,
  { number, leaves }: Seal,
): Promise<SealedAuditEntry[]> =>
  inTransaction(connection, async (session) => {
    const ids = leaves.map(({ key }) => Number(key));
    const listed = await entries
      .find({ _id: trusted({ $in: ids }) })
      .session(session)
      .lean<AuditEntryDocument[]>();
    const listedIds = new Set(listed.map(({ _id }) => _id));
    const marked = await entries.find({ seal: number }).session(session).lean<AuditEntryDocument[]>();
    return [...listed, ...marked.filter(({ _id }) => !listedIds.has(_id))].map(toSealed);
  });
