/** The sale of a training service: claims the purchase as a pending trainee, then runs the steps of `purchase-saga.ts`. */
import type { UserCaller } from '@fitness/shared/kernel/caller.ts';
import { AppError, badRequest, invalid, message } from '@fitness/shared/kernel/error.ts';
import { effectStarted, effectUndone, outsideRequest } from '@fitness/shared/kernel/request-scope.ts';
import type { ClientSession } from '@fitness/shared/mongo/connect.ts';
import { type Complete, storedKey } from '@fitness/shared/mongo/idempotency.ts';
import { runningError } from '@fitness/shared/mongo/idempotency-claims.ts';
import { isDuplicateKey } from '@fitness/shared/mongo/transaction.ts';
import type { Dependencies } from '../dependencies.ts';
import { commissionOf } from '../domain/sale.ts';
import { isPaid, type Trainee } from '../domain/trainee.ts';
import type { Attempt } from '../store/trainees.ts';
import { createPurchaseSaga } from './purchase-saga.ts';
import { type TraineeResource, toTraineeResource } from './trainee-resource.ts';

interface Purchase {
  trainingServiceId: number;
  /** The price that the buyer was shown; undefined accepts any price. */
  price: number | undefined;
  idempotencyKey: string | undefined;
}

/**
 * 404 for a service that is unknown, inactive or hidden. 400 for the buyer's own service, a price other than the one they
 * were shown, or too low a balance. 503 when identity or the wallet does not respond. Repeating the request after a 503
 * resumes the purchase: with the same `Idempotency-Key`, or without a key for the same service.
 */
export type BuyTrainingService = (
  caller: UserCaller,
  purchase: Purchase,
  complete: Complete<TraineeResource>,
) => Promise<TraineeResource>;

export const createBuyTrainingService = (
  dependencies: Pick<Dependencies, 'store' | 'users' | 'wallet' | 'sequences' | 'outbox' | 'clock'>,
): BuyTrainingService => {
  const resume = createResume(dependencies);
  const start = createStart(dependencies);
  const { pay, activate } = createPurchaseSaga(dependencies);
  return async (caller, purchase, complete) => {
    const key =
      purchase.idempotencyKey === undefined ? null : storedKey(caller.userId, purchase.idempotencyKey);
    // Fetched before the payment, so a completed purchase never returns 503.
    const buyers = await dependencies.users.find([caller.userId], caller);
    const started = await resume(caller.userId, purchase.trainingServiceId, key);
    if (started?.paid !== undefined) return toTraineeResource(started.paid, buyers);
    const attempt = started?.attempt ?? (await start(caller.userId, purchase, key));
    // The purchase is claimed. If this request fails now, a job finishes the purchase later.
    effectStarted();
    await pay(attempt);
    return activate(attempt.trainee.traineeId, async (session, active) => {
      const resource = toTraineeResource(active, buyers);
      await complete(session, resource);
      return resource;
    });
  };
};

/** The paid trainee of an earlier attempt at the same purchase, or a further attempt. */
type Started = { paid: Trainee; attempt?: never } | { paid?: never; attempt: Attempt };

const createResume =
  ({ store, clock }: Pick<Dependencies, 'store' | 'clock'>) =>
  async (
    buyerUserId: number,
    trainingServiceId: number,
    key: string | null,
  ): Promise<Started | undefined> => {
    const now = clock.now();
    const begin = async (
      work: (session: ClientSession) => Promise<Attempt | undefined>,
    ): Promise<Attempt | undefined> => {
      const attempt = await store.transaction(work);
      // The transaction changed nothing, so a later 503 may still say so.
      if (attempt === undefined) effectUndone();
      return attempt;
    };
    if (key === null) {
      const attempt = await begin((session) =>
        store.trainees.resumeUnkeyed(session, buyerUserId, trainingServiceId),
      );
      return attempt && { attempt };
    }
    const earlier = await store.trainees.findByKey(key, now);
    if (earlier === undefined) return undefined;
    if (earlier.trainingServiceId !== trainingServiceId)
      throw invalid({ idempotency_key: message('idempotency.other_body') });
    if (isPaid(earlier)) return { paid: earlier };
    const attempt = await begin((session) => store.trainees.resume(session, earlier.traineeId));
    if (attempt !== undefined) return { attempt };
    // The purchase has ended since: it is paid, or it is cancelled and its key is free again.
    const ended = await store.trainees.findByKey(key, now);
    return ended && isPaid(ended) ? { paid: ended } : undefined;
  };

const targetNotFound = (): AppError =>
  new AppError({
    kind: 'not_found',
    code: 'payments.target_not_found',
    message: message('payments.target_not_found'),
  });

/** Claims a new purchase: a pending trainee with the current price and commission, and the first attempt to pay it. */
const createStart = (
  dependencies: Pick<Dependencies, 'store' | 'users' | 'wallet' | 'sequences' | 'outbox' | 'clock'>,
) => {
  const { store, users, wallet, sequences } = dependencies;
  const insertPending = createInsertPending(dependencies);
  const { cancel } = createPurchaseSaga(dependencies);
  const requireVisible = async (sellerUserId: number): Promise<void> => {
    const hidden = await users.hidden([sellerUserId]);
    if (hidden.has(sellerUserId)) throw targetNotFound();
  };
  return async (
    buyerUserId: number,
    { trainingServiceId, price }: Purchase,
    key: string | null,
  ): Promise<Attempt> => {
    const service = await store.trainingServices.find(trainingServiceId);
    if (service === undefined) throw targetNotFound();
    if (service.user_id === buyerUserId)
      throw badRequest('payments.own_service', message('payments.own_service'));
    if (!service.is_active) throw targetNotFound();
    // Not cached, so an unavailable wallet is detected before the purchase is claimed.
    const commissionPercent = await wallet.commissionPercent();
    const traineeId = await sequences.next('trainees');
    const trainee = await insertPending({
      traineeId,
      trainingServiceId,
      buyerUserId,
      price,
      commissionPercent,
      key,
    });
    const attempt: Attempt = { trainee, number: 1, isAlone: true, earlierLeaseUntil: null };
    try {
      // Checked after the insert. The deletion of the seller's account checks for trainees, so one of the two sees the other.
      await requireVisible(trainee.sellerUserId);
    } catch (error) {
      await outsideRequest(() => cancel(attempt));
      effectUndone();
      throw error;
    }
    return attempt;
  };
};

interface NewSale extends Pick<Trainee, 'traineeId' | 'trainingServiceId' | 'buyerUserId'> {
  price: number | undefined;
  commissionPercent: number;
  key: string | null;
}

const createInsertPending =
  ({ store, clock }: Pick<Dependencies, 'store' | 'clock'>) =>
  async ({
    traineeId,
    trainingServiceId,
    buyerUserId,
    price,
    commissionPercent,
    key,
  }: NewSale): Promise<Trainee> => {
    const now = clock.now();
    try {
      return await store.transaction(async (session) => {
        const service = await store.trainingServices.find(trainingServiceId, session);
        if (service === undefined || !service.is_active) throw targetNotFound();
        if (price !== undefined && price !== service.price)
          throw badRequest('payments.price_changed', message('payments.price_changed'));
        const trainee: Trainee = {
          traineeId,
          trainingServiceId,
          title: service.title,
          sellerUserId: service.user_id,
          buyerUserId,
          price: service.price,
          commission: commissionOf(service.price, commissionPercent),
          status: 'pending',
          createdAt: now,
          deliveredAt: null,
          version: 1,
        };
        await store.trainees.insert(session, trainee, key);
        return trainee;
      });
    } catch (error) {
      // A concurrent attempt under the same key was faster.
      if (isDuplicateKey(error)) throw runningError();
      throw error;
    }
  };
