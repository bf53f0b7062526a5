/** Subscriptions and boosts. */
import { type ClientSession, trusted } from '@fitness/shared/mongo/connect.ts';
import { createDueIdQueue } from '@fitness/shared/mongo/due-queue.ts';
import type { Sequences } from '@fitness/shared/mongo/sequence.ts';
import { type Boost, expiryNoticeAt, type Grant, type Subscription } from '../domain/grant.ts';
import { type Target, targetKey } from '../domain/target.ts';
import { insertUnvalidated } from './insert.ts';
import type { BoostDocument, SubscriptionDocument } from './models/grants.ts';
import type { Models } from './models.ts';

export interface Grants {
  /** Call it outside any transaction, so concurrent grants do not conflict on the counter. */
  nextId(kind: Grant['kind']): Promise<number>;
  insert(session: ClientSession, grant: Grant): Promise<void>;
  find(kind: Grant['kind'], id: number, session?: ClientSession): Promise<Grant | undefined>;
  /** The running subscriptions of these users. */
  runningSubscriptions(userIds: readonly number[], now: Date): Promise<Subscription[]>;
  /** The live boosts of these targets. */
  liveBoosts(targets: readonly Target[], now: Date): Promise<Boost[]>;
  /** Ids of the running grants. Reads the whole collection. */
  runningIds(kind: Grant['kind'], now: Date): Promise<number[]>;
  /** Increments the version of a grant, for an event that repeats its start; undefined if it has ended. */
  repeatStart(
    session: ClientSession,
    kind: Grant['kind'],
    id: number,
    now: Date,
  ): Promise<{ grant: Grant; version: number } | undefined>;
  /** Ends a grant now; undefined if it has already ended. The caller publishes the end. */
  end(
    session: ClientSession,
    kind: Grant['kind'],
    id: number,
    now: Date,
  ): Promise<{ grant: Grant; version: number } | undefined>;
  /** Boosts that have run out and whose end is not published; their users take turns. */
  boostsWithUnpublishedEnd(now: Date, limit: number): Promise<number[]>;
  /** Undefined if it is already published. */
  markEndPublished(
    session: ClientSession,
    id: number,
  ): Promise<{ boost: Boost; version: number } | undefined>;
  /** Subscriptions whose end is to be announced by now; their users take turns. */
  subscriptionsWithDueNotice(now: Date, limit: number): Promise<number[]>;
  /** Undefined if its end is already announced or not yet due to be announced. */
  takeExpiryNotice(
    session: ClientSession,
    id: number,
    now: Date,
  ): Promise<{ subscription: Subscription; version: number } | undefined>;
}

export const fromSubscriptionDocument = (document: SubscriptionDocument): Subscription => ({
  kind: 'premium',
  id: document._id,
  userId: document.user_id,
  type: document.type,
  startsAt: document.starts_at,
  expiresAt: document.expires_at,
  source: document.source,
  createdAt: document.created_at,
});

export const fromBoostDocument = (document: BoostDocument): Boost => ({
  kind: 'boost',
  id: document._id,
  userId: document.user_id,
  target: { type: document.boostable_type, id: document.boostable_id },
  level: document.level,
  startsAt: document.starts_at,
  endsAt: document.ends_at,
  source: document.source,
  createdAt: document.created_at,
});

/** Changes of running grants. Each increments the version, which orders the events of a grant. */
const createChanges = ({
  subscriptions,
  boosts,
}: Pick<Models, 'subscriptions' | 'boosts'>): Pick<Grants, 'repeatStart' | 'end'> => {
  const change =
    (endOfSubscription: (now: Date) => object, endOfBoost: (now: Date) => object): Grants['end'] =>
    async (session, kind, id, now) => {
      const running = trusted({ $gt: now });
      const $inc = { version: 1 };
      const after = { session, returnDocument: 'after' as const };
      if (kind === 'premium') {
        const row = await subscriptions
          .findOneAndUpdate({ _id: id, expires_at: running }, { $set: endOfSubscription(now), $inc }, after)
          .lean<SubscriptionDocument>();
        return row === null ? undefined : { grant: fromSubscriptionDocument(row), version: row.version };
      }
      const row = await boosts
        .findOneAndUpdate({ _id: id, ends_at: running }, { $set: endOfBoost(now), $inc }, after)
        .lean<BoostDocument>();
      return row === null ? undefined : { grant: fromBoostDocument(row), version: row.version };
    };
  return {
    repeatStart: change(
      () => ({}),
      () => ({}),
    ),
    end: change(
      (expires_at) => ({ expires_at }),
      (ends_at) => ({ ends_at, end_due_at: null }),
    ),
  };
};

export const createGrants = ({ subscriptions, boosts }: Models, sequences: Sequences): Grants => ({
  nextId: (kind) => sequences.next(kind === 'premium' ? 'subscription' : 'boost'),
  insert: async (session, grant) => {
    const common = {
      _id: grant.id,
      user_id: grant.userId,
      starts_at: grant.startsAt,
      source: grant.source,
      created_at: grant.createdAt,
      version: 1,
    };
    if (grant.kind === 'premium') {
      const end = { expires_at: grant.expiresAt, expiry_notice_due_at: expiryNoticeAt(grant) };
      const document = { ...common, ...end, type: grant.type };
      return insertUnvalidated(subscriptions, session, document);
    }
    const { target, level, endsAt } = grant;
    const boosted = { target: targetKey(target), boostable_type: target.type, boostable_id: target.id };
    const document = { ...common, ...boosted, level, ends_at: endsAt, end_due_at: endsAt };
    return insertUnvalidated(boosts, session, document);
  },
  find: async (kind, id, session) => {
    if (kind === 'premium') {
      const document = await subscriptions
        .findById(id, null, session === undefined ? {} : { session })
        .lean<SubscriptionDocument>();
      return document === null ? undefined : fromSubscriptionDocument(document);
    }
    const document = await boosts
      .findById(id, null, session === undefined ? {} : { session })
      .lean<BoostDocument>();
    return document === null ? undefined : fromBoostDocument(document);
  },
  runningSubscriptions: async (userIds, now) => {
    if (userIds.length === 0) return [];
    // Two stages: a query planner that uses one field per `$match` still uses the index. MongoDB merges them.
    const rows = await subscriptions.aggregate<SubscriptionDocument>([
      { $match: { user_id: { $in: [...userIds] } } },
      { $match: { expires_at: { $gt: now } } },
    ]);
    return rows.map(fromSubscriptionDocument);
  },
  liveBoosts: async (targets, now) => {
    if (targets.length === 0) return [];
    const rows = await boosts.aggregate<BoostDocument>([
      { $match: { target: { $in: targets.map(targetKey) } } },
      { $match: { ends_at: { $gt: now } } },
    ]);
    return rows.map(fromBoostDocument);
  },
  runningIds: async (kind, now) => {
    const running = trusted({ $gt: now });
    const rows =
      kind === 'premium'
        ? await subscriptions.find({ expires_at: running }, { _id: 1 }).lean<{ _id: number }[]>()
        : await boosts.find({ ends_at: running }, { _id: 1 }).lean<{ _id: number }[]>();
    return rows.map(({ _id }) => _id);
  },
  ...createChanges({ subscriptions, boosts }),
  boostsWithUnpublishedEnd: createDueIdQueue(boosts, { due: 'end_due_at', user: 'user_id' }),
  markEndPublished: async (session, id) => {
    const document = await boosts
      .findOneAndUpdate(
        { _id: id, end_due_at: trusted({ $ne: null }) },
        { $set: { end_due_at: null }, $inc: { version: 1 } },
        { session, returnDocument: 'after' },
      )
      .lean<BoostDocument>();
    return document === null ? undefined : { boost: fromBoostDocument(document), version: document.version };
  },
  subscriptionsWithDueNotice: createDueIdQueue(subscriptions, {
    due: 'expiry_notice_due_at',
    user: 'user_id',
  }),
  takeExpiryNotice: async (session, id, now) => {
    const document = await subscriptions
      .findOneAndUpdate(
        { _id: id, expiry_notice_due_at: trusted({ $lte: now }) },
        { $set: { expiry_notice_due_at: null }, $inc: { version: 1 } },
        { session, returnDocument: 'after' },
      )
      .lean<SubscriptionDocument>();
    if (document === null) return undefined;
    return { subscription: fromSubscriptionDocument(document), version: document.version };
  },
});
