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
import { storedKey } from '@fitness/shared/http/idempotency.ts';
import type { ClientSession } from '@fitness/shared/mongo/connect.ts';
import { isDuplicateKey } from '@fitness/shared/mongo/transaction.ts';
import { commissionOf } from '../domain/sale.ts';
import { isPaid, type Trainee } from '../domain/trainee.ts';
import type { Parts } from './parts.ts';
import { showTrainee } from './resources.ts';

/** Ten times the deadline of a call: whoever held it longer is not there any more, nor is what he sent. */
const LEASE_MS = 30 * SECOND_MS;
const SWEEP_BATCH = 50;

interface Purchase {
  trainingServiceId: number;
  /** What the buyer has read; undefined where he takes any. */
  price: number | undefined;
  idempotencyKey: string | undefined;
}

/**
 * 404 unknown, inactive or hidden; 400 the buyer's own, another price than he has read, or too low a balance; 503 when
 * identity or the wallet does not answer. After a 503 the same `Idempotency-Key`, or the same purchase without one, goes
 * on where it stopped.
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
        fingerprint: ['POST', 'training-service-purchase', purchase.trainingServiceId, purchase.price],
      },
      async (run) => {
        const key =
          purchase.idempotencyKey === undefined ? null : storedKey(caller.userId, purchase.idempotencyKey);
        // Taken before anything is paid: a purchase that was made is never answered with a 503.
        const buyers = await parts.users.show([caller.userId], caller);
        const begun = await findBegun(parts, caller.userId, purchase.trainingServiceId, key);
        if (begun !== undefined && isPaid(begun)) return created({ data: showTrainee(begun, buyers) });
        const trainee = begun ?? (await begin(parts, caller.userId, purchase, key));
        await settle(parts, trainee);
        return activate(parts, trainee.traineeId, async (session, active) => {
          const reply = created({ data: showTrainee(active, buyers) });
          await run.complete(session, reply);
          return reply;
        });
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

/** The pending trainee, with the price and commission of this moment, of a seller who was not hidden after it stood. */
const begin = async (
  parts: Parts,
  buyerUserId: number,
  { trainingServiceId, price }: Purchase,
  key: string | null,
): Promise<Trainee> => {
  const { store, wallet, sequences } = parts;
  const asked = await store.trainingServices.find(trainingServiceId);
  if (asked === undefined) throw targetNotFound();
  if (asked.userId === buyerUserId) throw badRequest('payments.own_service', message('payments.own_service'));
  if (!asked.isActive) throw targetNotFound();
  // Asked each time, so that a wallet that is away is noticed before anything is begun.
  const percent = await wallet.commissionPercent();
  const trainee = await insertPending(parts, {
    traineeId: await sequences.next('trainees'),
    trainingServiceId,
    buyerUserId,
    price,
    percent,
    key,
  });
  try {
    await requireVisible(parts, trainee.sellerUserId);
  } catch (error) {
    await store.transaction((session) => store.trainees.cancel(session, trainee.traineeId));
    throw error;
  }
  return trainee;
};

const insertPending = async (
  { store, clock }: Parts,
  sale: Pick<Trainee, 'traineeId' | 'trainingServiceId' | 'buyerUserId'> & {
    price: number | undefined;
    percent: number;
    key: string | null;
  },
): Promise<Trainee> => {
  const { traineeId, trainingServiceId, buyerUserId, price, percent, key } = sale;
  const now = clock.now();
  try {
    return await store.transaction(async (session) => {
      const service = await store.trainingServices.find(trainingServiceId, session);
      if (service === undefined || !service.isActive) throw targetNotFound();
      if (price !== undefined && price !== service.price)
        throw badRequest('payments.price_changed', message('payments.price_changed'));
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

/**
 * Asked when the pending trainee stands, which is what the seller's deletion looks for: whichever of the two looks
 * second sees the other.
 */
const requireVisible = async ({ users }: Parts, sellerUserId: number): Promise<void> => {
  const hidden = await users.hidden([sellerUserId]);
  if (hidden.pending.has(sellerUserId) || hidden.gone.has(sellerUserId)) throw targetNotFound();
};

/** The payments. Throws without a change when the wallet does not say what happened. */
const settle = async ({ wallet, store }: Parts, trainee: Trainee): Promise<void> => {
  if ((await wallet.book(trainee)) === 'booked') return;
  await store.transaction((session) => store.trainees.cancel(session, trainee.traineeId));
  throw badRequest('payments.insufficient_balance', message('payments.insufficient_balance'));
};

/** The trainee, whose payments are booked; `finish` is in the same transaction. */
const activate = <T>(
  { store, outbox }: Parts,
  id: number,
  finish: (session: ClientSession, trainee: Trainee) => Promise<T>,
): Promise<T> =>
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
    return finish(session, trainee);
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
        await activate(parts, id, async () => undefined);
        ended += 1;
      } catch (error) {
        if ((error as Partial<AppError>).code === 'payments.insufficient_balance') ended += 1;
        else log.warn({ err: error, trainee_id: id }, 'an interrupted purchase is still open');
      }
    }
    return ended;
  };
