/**
 * The sale of a training service, over two services: a pending trainee here, the payments in the wallet, and the
 * trainee made active here. Every step can be repeated under the trainee's id. What a crash or a lost answer leaves
 * half done is found by its lease, asked of the wallet again, and finished or undone.
 */
import { traineePurchased } from '@fitness/proto/events/content.ts';
import type { UserCaller } from '@fitness/shared/caller.ts';
import { SECOND_MS } from '@fitness/shared/clock.ts';
import { AppError, badRequest, conflict, message } from '@fitness/shared/error.ts';
import { created, type RouteReply } from '@fitness/shared/http/define-route.ts';
import { type IdempotentRun, storedKey } from '@fitness/shared/http/idempotency.ts';
import { isDuplicateKey } from '@fitness/shared/mongo/transaction.ts';
import { commissionOf } from '../domain/sale.ts';
import { isPaid, type Trainee } from '../domain/trainee.ts';
import type { Parts } from './parts.ts';
import { showTrainee } from './resources.ts';

/** Ten times the deadline of a call: whoever held it longer is not there any more, nor is what he sent. */
const LEASE_MS = 30 * SECOND_MS;
const SWEEP_BATCH = 50;

export interface Purchase {
  trainingServiceId: number;
  idempotencyKey: string | undefined;
}

/**
 * 404 unknown, inactive or hidden; 400 the buyer's own, or too low a balance; 503 when identity or the wallet does not
 * answer. After a 503 the same `Idempotency-Key`, or the same purchase without one, goes on where it stopped.
 */
export type BuyTrainingService = (caller: UserCaller, purchase: Purchase) => Promise<RouteReply>;

const targetNotFound = (): AppError =>
  new AppError({
    kind: 'not_found',
    code: 'payments.target_not_found',
    message: message('payments.target_not_found'),
  });

export const buyTrainingService =
  (parts: Parts): BuyTrainingService =>
  (caller, purchase) =>
    parts.idempotency.run(
      {
        userId: caller.userId,
        key: purchase.idempotencyKey,
        fingerprint: ['POST', 'training-service-purchase', purchase.trainingServiceId],
      },
      async (run) => {
        const key =
          purchase.idempotencyKey === undefined ? null : storedKey(caller.userId, purchase.idempotencyKey);
        const begun = await findBegun(parts, caller.userId, purchase.trainingServiceId, key);
        if (begun !== undefined && isPaid(begun)) return created({ data: showTrainee(begun) });
        const trainee = begun ?? (await begin(parts, caller.userId, purchase.trainingServiceId, key));
        return settle(parts, trainee, run);
      },
    );

/** What an earlier attempt of the same purchase has left. */
const findBegun = (
  { store, clock }: Parts,
  buyerUserId: number,
  trainingServiceId: number,
  key: string | null,
): Promise<Trainee | undefined> => {
  const now = clock.now();
  if (key !== null) return store.trainees.findByKey(key, now);
  return store.trainees.takeInterrupted(
    buyerUserId,
    trainingServiceId,
    now,
    new Date(now.getTime() + LEASE_MS),
  );
};

/** The checks, and the pending trainee with the price and commission of this moment. */
const begin = async (
  parts: Parts,
  buyerUserId: number,
  trainingServiceId: number,
  key: string | null,
): Promise<Trainee> => {
  const { store, users, wallet, clock, sequences } = parts;
  const asked = await store.trainingServices.find(trainingServiceId);
  if (asked === undefined) throw targetNotFound();
  if (asked.userId === buyerUserId) throw badRequest('payments.own_service', message('payments.own_service'));
  if (!asked.isActive) throw targetNotFound();
  const [hidden, percent] = await Promise.all([
    users.hidden([asked.userId]),
    // Asked each time, so that a wallet that is away is noticed before anything is begun.
    wallet.commissionPercent(),
  ]);
  if (hidden.pending.has(asked.userId) || hidden.gone.has(asked.userId)) throw targetNotFound();
  const traineeId = await sequences.next('trainees');
  const now = clock.now();
  try {
    return await store.transaction(async (session) => {
      const service = await store.trainingServices.find(trainingServiceId, session);
      if (service === undefined || !service.isActive) throw targetNotFound();
      const trainee: Trainee = {
        traineeId,
        trainingServiceId,
        title: service.title,
        sellerUserId: service.userId,
        buyerUserId,
        price: service.price,
        commission: commissionOf(service.price, percent),
        status: 'pending',
        createdAt: now,
        deliveredAt: null,
        version: 1,
      };
      const leaseUntil = new Date(now.getTime() + LEASE_MS);
      await store.trainees.insert(session, trainee, { key, leaseUntil });
      return trainee;
    });
  } catch (error) {
    // Somebody else began under this key while this one was slow: his attempt counts.
    if (isDuplicateKey(error)) throw conflict('idempotency.running', message('idempotency.running'));
    throw error;
  }
};

/** The payments, and then the trainee. Throws without a change when the wallet does not say what happened. */
const settle = async (parts: Parts, trainee: Trainee, run?: IdempotentRun): Promise<RouteReply> => {
  const outcome = await parts.wallet.book(trainee);
  if (outcome === 'refused') {
    await parts.store.transaction((session) => parts.store.trainees.cancel(session, trainee.traineeId));
    throw badRequest('payments.insufficient_balance', message('payments.insufficient_balance'));
  }
  return activate(parts, trainee.traineeId, run);
};

const activate = ({ store, outbox }: Parts, id: number, run?: IdempotentRun): Promise<RouteReply> =>
  store.transaction(async (session) => {
    const activated = await store.trainees.activate(session, id);
    const trainee = activated ?? (await store.trainees.find(id, session));
    if (trainee === undefined || !isPaid(trainee))
      throw new Error(`Trainee ${id} is paid but cannot be active`);
    if (activated !== undefined)
      await outbox.emit(session, traineePurchased, {
        subject: id,
        aggregateVersion: activated.version,
        data: {
          trainee_id: id,
          training_service_id: activated.trainingServiceId,
          seller_user_id: activated.sellerUserId,
          buyer_user_id: activated.buyerUserId,
        },
      });
    const reply = created({ data: showTrainee(trainee) });
    await run?.complete(session, reply);
    return reply;
  });

/** One round over interrupted purchases: each is finished, undone, or left for the next round. Returns how many ended. */
export type FinishPurchases = () => Promise<number>;

export const finishPurchases =
  (parts: Parts): FinishPurchases =>
  async () => {
    const { store, clock, log } = parts;
    let ended = 0;
    for (const id of await store.trainees.interrupted(clock.now(), SWEEP_BATCH)) {
      const now = clock.now();
      const trainee = await store.trainees.take(id, now, new Date(now.getTime() + LEASE_MS));
      if (trainee === undefined) continue;
      try {
        await settle(parts, trainee);
        ended += 1;
      } catch (error) {
        if ((error as Partial<AppError>).code === 'payments.insufficient_balance') ended += 1;
        else log.warn({ err: error, trainee_id: id }, 'an interrupted purchase is still open');
      }
    }
    return ended;
  };
