/** Lists of audit entries, with the personal values whose key still exists. */
import type { PipelineStage } from 'mongoose';
import { SECOND_MS } from '../kernel/clock.ts';
import { trusted } from '../mongo/connect.ts';
import { countMatches } from '../mongo/count-matches.ts';
import type { AuditValues } from './actions.ts';
import { type AuditEntryDocument, type AuditModels, smallestAuditId } from './models.ts';
import { decryptValue, type StoredField } from './values.ts';

export interface AuditFilter {
  actorId?: number | undefined;
  subjectType?: string | undefined;
  subjectId?: number | undefined;
  action?: string | undefined;
  /** Inclusive, like `to`, in whole seconds. */
  from?: Date | undefined;
  to?: Date | undefined;
}

export interface AuditEntry {
  id: number;
  service: string;
  at: Date;
  actorId: number | null;
  action: string;
  subjectType: string;
  subjectId: number | null;
  requestId: string | null;
  /** A personal value of an erased account is {@link ERASED}. */
  before: AuditValues | null;
  after: AuditValues | null;
}

/** Replaces a personal value that can no longer be read. */
const ERASED = { erased: true } as const;

/** Replaces a personal value that was changed in the database. */
const CHANGED = { changed: true } as const;

/** A response must not exceed the largest message of gRPC, 4 MiB. */
const MAX_CHARACTERS = 500_000;

type Match = PipelineStage.Match;

/**
 * Two stages, which MongoDB combines into one condition. The first is equalities on the first fields of an index, then a
 * range of ids, which every planner serves by that index (ADR 101).
 */
const toStages = (service: string, filter: AuditFilter, beforeId: number | undefined): [Match, Match] => {
  const { actorId, subjectType, subjectId, action, from, to } = filter;
  const below = Math.min(
    beforeId ?? Number.MAX_SAFE_INTEGER,
    to === undefined ? Number.MAX_SAFE_INTEGER : smallestAuditId(new Date(to.getTime() + SECOND_MS)),
  );
  const ids = { $lt: below, ...(from === undefined ? {} : { $gte: smallestAuditId(from) }) };
  const subject = {
    ...(subjectType === undefined ? {} : { subject_type: subjectType }),
    ...(subjectId === undefined ? {} : { subject_id: subjectId }),
  };
  const conditions = [
    ...(subjectType === undefined && subjectId === undefined ? [] : [subject]),
    ...(actorId === undefined ? [] : [{ actor_id: actorId }]),
    ...(action === undefined ? [] : [{ action }]),
    { service },
  ];
  const [indexed, ...rest] = conditions;
  return [{ $match: { ...indexed, _id: ids } }, { $match: Object.assign({}, ...rest) }];
};

export const createAuditReader = ({ entries, keys }: AuditModels, service: string) => {
  const keysOf = async (stored: readonly StoredField[]): Promise<Map<number, Buffer>> => {
    const people = new Set(stored.flatMap((field) => ('person' in field ? [field.person] : [])));
    if (people.size === 0) return new Map();
    const keyRows = await keys.find({ _id: trusted({ $in: [...people] }) }).lean();
    return new Map(
      keyRows.flatMap(({ _id, key }) => (key === null ? [] : [[_id, Buffer.from(key, 'base64')] as const])),
    );
  };
  return {
    list: async (
      filter: AuditFilter,
      { beforeId, limit }: { beforeId: number | undefined; limit: number },
    ): Promise<{ entries: AuditEntry[]; hasMore: boolean }> => {
      const rows = await entries.aggregate<AuditEntryDocument>([
        ...toStages(service, filter, beforeId),
        { $sort: { _id: -1 } },
        { $limit: limit + 1 },
      ]);
      const shown = fitting(rows.slice(0, limit));
      const people = await keysOf(
        shown.flatMap((entry) => [...fieldsOf(entry.before), ...fieldsOf(entry.after)]),
      );
      return { entries: shown.map((entry) => toEntry(entry, people)), hasMore: rows.length > shown.length };
    },
    count: (filter: AuditFilter): Promise<number> =>
      // The rows are counted even without a filter, because the server's own count may stay wrong after a crash.
      countMatches(entries, toStages(service, filter, undefined)),
  };
};

/** The first entry, and the following ones that fit into one response. */
const fitting = (rows: readonly AuditEntryDocument[]): AuditEntryDocument[] => {
  let size = 0;
  return rows.filter(({ before, after }, index) => {
    size += (before?.length ?? 0) + (after?.length ?? 0);
    return index === 0 || size <= MAX_CHARACTERS;
  });
};

const fieldsOf = (stored: string | null): StoredField[] =>
  stored === null ? [] : (JSON.parse(stored) as StoredField[]);

/** A stored value that was changed must not make the list fail; the audit command names its entry. */
const readable = (key: Buffer, place: string, data: string): unknown => {
  try {
    return decryptValue(key, place, data);
  } catch {
    return CHANGED;
  }
};

const toEntry = (stored: AuditEntryDocument, keys: ReadonlyMap<number, Buffer>): AuditEntry => {
  const read = (side: 'before' | 'after'): AuditValues | null => {
    if (stored[side] === null) return null;
    const values = fieldsOf(stored[side]).map((field): [string, unknown] => {
      if (!('person' in field)) return [field.field, field.value];
      const key = keys.get(field.person);
      if (key === undefined || field.data === null) return [field.field, ERASED];
      return [field.field, readable(key, `${stored._id}.${side}.${field.field}`, field.data)];
    });
    return Object.fromEntries(values);
  };
  return {
    id: stored._id,
    service: stored.service,
    at: stored.at,
    actorId: stored.actor_id,
    action: stored.action,
    subjectType: stored.subject_type,
    subjectId: stored.subject_id,
    requestId: stored.request_id,
    before: read('before'),
    after: read('after'),
  };
};
