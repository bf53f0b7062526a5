/** Trainees. Each change of status is one conditional update, so it happens once. */
import { type Clock, DAY_MS, SECOND_MS } from '@fitness/shared/kernel/clock.ts';
import { type PageOf, type PageRequest, toPage } from '@fitness/shared/kernel/page.ts';
import { type ClientSession, trusted } from '@fitness/shared/mongo/connect.ts';
import { createDueIdQueue } from '@fitness/shared/mongo/due-queue.ts';
import type { QueryFilter } from 'mongoose';
import type { Trainee, TraineeStatus } from '../domain/trainee.ts';
import type { TraineeDocument } from './models/trainees.ts';
import type { Models } from './models.ts';

export interface TraineeFilter {
  userId: number;
  /** Undefined for both roles. */
  role?: 'buyer' | 'seller' | undefined;
  trainingServiceId?: number | undefined;
  isDelivered?: boolean | undefined;
}

/** The lifetime of an `Idempotency-Key`. */
const KEY_MS = DAY_MS;
/** Three times as long as a booking and its retry, at 5 s each. Normally, no call of an attempt outlasts its lease. */
const LEASE_MS = 30 * SECOND_MS;

export interface Trainees {
  find(id: number, session?: ClientSession): Promise<Trainee | undefined>;
  /** Throws a duplicate key error if the key was used in the last 24 hours. */
  insert(session: ClientSession, trainee: Trainee, key: string | null): Promise<void>;
  /** The purchase that was started under this key in the last 24 hours. */
  findByKey(key: string, now: Date): Promise<Trainee | undefined>;
  /** Resumes a pending purchase, even while another attempt is running, and extends its lease. Undefined if it is not pending. */
  resume(session: ClientSession, id: number): Promise<Attempt | undefined>;
  /** Resumes a pending purchase without a key whose lease has expired; undefined if there is none. */
  resumeUnkeyed(
    session: ClientSession,
    buyerUserId: number,
    trainingServiceId: number,
  ): Promise<Attempt | undefined>;
  /** Ids of pending purchases whose lease has expired; buyers take turns. */
  interrupted(limit: number): Promise<number[]>;
  /** Resumes a purchase whose lease has expired. Undefined if another process has resumed it, or it is not pending. */
  resumeInterrupted(id: number): Promise<Attempt | undefined>;
  /**
   * Pending or cancelled → active; undefined for another status. A cancelled trainee is paid only if a call outlives the
   * lease, for example because its process was suspended.
   */
  activate(session: ClientSession, id: number): Promise<Trainee | undefined>;
  /** Reverts the lease extension of an attempt that has ended, unless another attempt has started since. */
  endAttempt(attempt: Attempt): Promise<void>;
  /**
   * Pending → cancelled; its key can be used again. False if it is not pending, or if another attempt has started since and
   * may still pay.
   */
  cancel(session: ClientSession, attempt: Attempt): Promise<boolean>;
  /** Active → delivered; undefined if it is not active. */
  deliver(session: ClientSession, id: number, now: Date): Promise<Trainee | undefined>;
  /** Active and delivered trainees, newest first. */
  page(filter: TraineeFilter, request: PageRequest): Promise<PageOf<Trainee>>;
  /** Counts pending and active trainees. A pending one may already be paid. */
  countUndelivered(sellerUserId: number): Promise<number>;
}

/** One try to finish a pending purchase. */
export interface Attempt {
  trainee: Trainee;
  /** Starts at 1. */
  number: number;
  /** Whether no earlier attempt can still be running. */
  isAlone: boolean;
  /** The lease of earlier attempts; null for the first attempt. */
  earlierLeaseUntil: Date | null;
}

const fromDocument = (document: TraineeDocument): Trainee => ({
  traineeId: document._id,
  trainingServiceId: document.training_service_id,
  title: document.title,
  sellerUserId: document.seller_user_id,
  buyerUserId: document.user_id,
  price: document.price,
  commission: document.commission,
  status: document.status,
  createdAt: document.created_at,
  deliveredAt: document.delivered_at,
  version: document.version,
});

const orUndefined = (document: TraineeDocument | null): Trainee | undefined =>
  document === null ? undefined : fromDocument(document);

const statusOf = ({ isDelivered }: TraineeFilter) => {
  if (isDelivered === undefined) return trusted({ $in: ['active', 'delivered'] as TraineeStatus[] });
  return isDelivered ? ('delivered' as const) : ('active' as const);
};

const filtersOf = (filter: TraineeFilter) => {
  const status = statusOf(filter);
  const service =
    filter.trainingServiceId === undefined ? {} : { training_service_id: filter.trainingServiceId };
  const roles = filter.role === undefined ? (['buyer', 'seller'] as const) : [filter.role];
  return roles.map((role) => ({
    ...(role === 'buyer' ? { user_id: filter.userId } : { seller_user_id: filter.userId }),
    status,
    ...service,
  }));
};

const pageOf = async (
  trainees: Models['trainees'],
  filter: TraineeFilter,
  request: PageRequest,
): Promise<PageOf<Trainee>> => {
  // Nobody can buy their own service, so a user’s two lists share no rows.
  const filters = filtersOf(filter);
  let total: number | undefined;
  if (request.mode === 'page') {
    total = 0;
    for (const one of filters) total += await trainees.countDocuments(one);
    if (request.skip >= total) return { rows: [], total, next: undefined };
  }
  const skip = request.mode === 'page' ? request.skip : 0;
  const beforeId = request.mode === 'cursor' ? (request.after[0] ?? 0) : Number.MAX_SAFE_INTEGER;
  const lists: TraineeDocument[][] = [];
  for (const one of filters) {
    const query = trainees.find({ ...one, _id: trusted({ $lt: beforeId }) }).sort({ _id: -1 });
    lists.push(await query.limit(skip + request.perPage + 1).lean<TraineeDocument[]>());
  }
  const rows = lists.flat().toSorted((a, b) => b._id - a._id);
  return toPage(rows.slice(skip).map(fromDocument), request, ({ traineeId }) => traineeId, total);
};

const expired = (now: Date) => ({ lease_until: trusted({ $lte: now }) });

const leaseFrom = (now: Date): Date => new Date(now.getTime() + LEASE_MS);

const resume = async (
  trainees: Models['trainees'],
  filter: Record<string, unknown>,
  now: Date,
  session?: ClientSession,
): Promise<Attempt | undefined> => {
  const before = await trainees
    .findOneAndUpdate(
      filter,
      { $max: { lease_until: leaseFrom(now) }, $inc: { attempts: 1 } },
      { returnDocument: 'before', ...(session && { session }) },
    )
    .lean<TraineeDocument>();
  if (before === null) return undefined;
  const earlierLeaseUntil = before.lease_until;
  return {
    trainee: fromDocument(before),
    number: before.attempts + 1,
    isAlone: earlierLeaseUntil === null || earlierLeaseUntil <= now,
    earlierLeaseUntil,
  };
};

const takeInterrupted = (trainees: Models['trainees'], realTime: Clock): Trainees['interrupted'] => {
  const takeDue = createDueIdQueue(trainees, { due: 'lease_until', user: 'user_id' });
  return (limit) => takeDue(realTime.now(), limit, { status: 'pending' });
};

const createInsert =
  ({ trainees, purchaseKeys }: Models, realTime: Clock): Trainees['insert'] =>
  async (session, trainee, key) => {
    const document = {
      _id: trainee.traineeId,
      training_service_id: trainee.trainingServiceId,
      title: trainee.title,
      seller_user_id: trainee.sellerUserId,
      user_id: trainee.buyerUserId,
      price: trainee.price,
      commission: trainee.commission,
      status: trainee.status,
      purchase_key: key,
      lease_until: leaseFrom(realTime.now()),
      attempts: 1,
      created_at: trainee.createdAt,
      delivered_at: trainee.deliveredAt,
      version: trainee.version,
    };
    if (key !== null) {
      await purchaseKeys.deleteOne(
        { _id: key, expires_at: trusted({ $lte: trainee.createdAt }) },
        { session },
      );
      const expires_at = new Date(trainee.createdAt.getTime() + KEY_MS);
      await purchaseKeys.create([{ _id: key, trainee_id: trainee.traineeId, expires_at }], { session });
    }
    await trainees.create([document], { session });
  };

/** Changes the trainee that `filter` matches. */
const change = (
  trainees: Models['trainees'],
  session: ClientSession,
  filter: QueryFilter<TraineeDocument>,
  set: Partial<TraineeDocument>,
): Promise<TraineeDocument | null> =>
  trainees
    .findOneAndUpdate(filter, { $set: set, $inc: { version: 1 } }, { session, returnDocument: 'after' })
    .lean<TraineeDocument>();

/** Changes of a trainee's status. */
const createTransitions = ({
  trainees,
  purchaseKeys,
}: Models): Pick<Trainees, 'activate' | 'cancel' | 'deliver'> => ({
  activate: async (session, id) => {
    const status = trusted({ $in: ['pending', 'cancelled'] as TraineeStatus[] });
    const active = { status: 'active', lease_until: null } as const;
    return orUndefined(await change(trainees, session, { _id: id, status }, active));
  },
  cancel: async (session, { trainee, number }) => {
    const id = trainee.traineeId;
    const pending = { _id: id, status: 'pending', attempts: number } as const;
    const cancelled = await change(trainees, session, pending, { status: 'cancelled', lease_until: null });
    if (cancelled === null) return false;
    if (cancelled.purchase_key !== null)
      await purchaseKeys.deleteOne({ _id: cancelled.purchase_key, trainee_id: id }, { session });
    return true;
  },
  deliver: async (session, id, now) => {
    const delivered = { status: 'delivered', delivered_at: now } as const;
    return orUndefined(await change(trainees, session, { _id: id, status: 'active' }, delivered));
  },
});

/** `realTime` is the clock that leases are measured by. */
export const createTrainees = (models: Models, realTime: Clock): Trainees => {
  const { trainees, purchaseKeys } = models;
  return {
    find: async (id, session) =>
      orUndefined(await trainees.findById(id, null, session && { session }).lean()),
    insert: createInsert(models, realTime),
    findByKey: async (key, now) => {
      const purchaseKey = await purchaseKeys.findById(key).lean();
      if (purchaseKey === null || purchaseKey.expires_at <= now) return undefined;
      return orUndefined(await trainees.findById(purchaseKey.trainee_id).lean());
    },
    resume: (session, id) => resume(trainees, { _id: id, status: 'pending' }, realTime.now(), session),
    resumeUnkeyed: (session, buyerUserId, trainingServiceId) => {
      const now = realTime.now();
      const service = { training_service_id: trainingServiceId, purchase_key: null };
      const filter = { user_id: buyerUserId, status: 'pending', ...service, ...expired(now) };
      return resume(trainees, filter, now, session);
    },
    interrupted: takeInterrupted(trainees, realTime),
    resumeInterrupted: (id) => {
      const now = realTime.now();
      return resume(trainees, { _id: id, status: 'pending', ...expired(now) }, now);
    },
    endAttempt: async ({ trainee, number, earlierLeaseUntil }) => {
      const filter = { _id: trainee.traineeId, status: 'pending' as const, attempts: number };
      await trainees.updateOne(filter, { $set: { lease_until: earlierLeaseUntil } });
    },
    ...createTransitions(models),
    page: (filter, request) => pageOf(trainees, filter, request),
    countUndelivered: async (sellerUserId) => {
      let count = 0;
      for (const status of ['pending', 'active'] as const)
        count += await trainees.countDocuments({ seller_user_id: sellerUserId, status });
      return count;
    },
  };
};
