/**
 * Buys premium or a boost from the wallet. The slot is reserved before the wallet is charged, so a charged purchase can be
 * granted.
 */
import { invalid, message, unavailable } from '@fitness/shared/kernel/error.ts';
import { effectStarted } from '@fitness/shared/kernel/request-scope.ts';
import type { ClientSession } from '@fitness/shared/mongo/connect.ts';
import { type Complete, storedKey } from '@fitness/shared/mongo/idempotency.ts';
import type { Dependencies } from '../dependencies.ts';
import { type Grant, type Order, slotOf } from '../domain/grant.ts';
import type { Offer } from '../domain/offer.ts';
import { CLIENT_KEY_MS, SLOT_WAIT_MS, type WalletPurchase } from '../domain/wallet-purchase.ts';
import type { SlotRefusal } from '../store/slots.ts';
import { alreadyRunning, refundedError, refusalError, undoneError } from './wallet-purchase-errors.ts';
import { BACKGROUND_OPTIONS, findGrant, runSaga, type SagaOptions, waitForSaga } from './wallet-saga.ts';

/** The idempotency of a request. A repeat with the same key gets the same grant. */
export interface IdempotentRequest<Result extends Grant> {
  /** The client's `Idempotency-Key`. */
  clientKey: string | undefined;
  complete: Complete<Result>;
}

interface WalletOrder extends IdempotentRequest<Grant> {
  order: Order;
}

/**
 * Throws 400 `payments.premium_already_active`, `payments.boost_already_live` or `payments.insufficient_balance`, 404
 * `payments.target_not_found`, and `unavailable` while it is unknown whether the wallet was charged. The saga is then
 * finished in the background.
 */
export type BuyFromWallet = (walletOrder: WalletOrder) => Promise<Grant>;

export const createBuyFromWallet =
  (dependencies: Dependencies): BuyFromWallet =>
  async ({ order, clientKey: rawKey, complete }) => {
    const { store, clock, requestTransactionTimeoutMs: transactionTimeoutMs } = dependencies;
    const clientKey = rawKey === undefined ? undefined : storedKey(order.userId, rawKey);
    const earlier = await findEarlier(dependencies, order, clientKey);
    const options = { complete, transactionTimeoutMs };
    if (earlier !== undefined) return finishEarlier(dependencies, earlier, options);
    const slot = slotOf(order);
    if ((await store.slots.ensure(slot, clock.now())) === 'active') throw alreadyRunning(order.offer);
    const deadline = performance.now() + SLOT_WAIT_MS;
    for (;;) {
      const reserved = await reserve(dependencies, order, clientKey);
      if ('purchase' in reserved) return runSaga(dependencies, reserved.purchase, options);
      const { refusal } = reserved;
      if (refusal.by !== 'reserved') throw refusalError(refusal, order.offer);
      const takeOver = { ...BACKGROUND_OPTIONS, transactionTimeoutMs };
      const holder = await waitForSaga(dependencies, refusal.purchaseId, deadline, takeOver);
      if (holder.state === 'reserved')
        throw unavailable(`${slot} is held by the wallet purchase ${holder.id}`);
    }
  };

/** The purchase that was started with the same `Idempotency-Key`, unless it ended without a grant. */
const findEarlier = async (
  { store, clock }: Dependencies,
  order: Order,
  clientKey: string | undefined,
): Promise<WalletPurchase | undefined> => {
  if (clientKey === undefined) return undefined;
  const since = new Date(clock.now().getTime() - CLIENT_KEY_MS);
  const earlier = await store.walletPurchases.findByClientKey(order.userId, clientKey, since);
  if (earlier === undefined) return undefined;
  if (slotOf(earlier.order) !== slotOf(order) || !isSameOffer(earlier.order.offer, order.offer))
    throw invalid({ idempotency_key: message('idempotency.other_body') });
  return earlier.state === 'undone' || earlier.state === 'refunded' ? undefined : earlier;
};

/** Does not compare the price, which may have changed since. */
const isSameOffer = (one: Offer, other: Offer): boolean =>
  one.kind === other.kind && (one.kind === 'premium' || other.kind === 'premium' || one.name === other.name);

const finishEarlier = async (
  dependencies: Dependencies,
  purchase: WalletPurchase,
  options: SagaOptions,
): Promise<Grant> => {
  effectStarted();
  const deadline = performance.now() + SLOT_WAIT_MS;
  const awaited = await waitForSaga(dependencies, purchase.id, deadline, options);
  if (awaited.state === 'granted') return findGrant(dependencies, awaited);
  if (awaited.state === 'undone') throw undoneError(awaited);
  if (awaited.state === 'refunded' || awaited.state === 'refunding') throw refundedError(awaited);
  throw unavailable(`the wallet purchase ${purchase.id} is not finished yet`);
};

const reserve = async (
  { store, clock, realTime, random }: Dependencies,
  order: Order,
  clientKey: string | undefined,
): Promise<{ purchase: WalletPurchase } | { refusal: SlotRefusal }> => {
  const now = clock.now();
  const purchase: WalletPurchase = {
    id: random.uuid(),
    order,
    amount: order.offer.price,
    grantId: await store.grants.nextId(order.offer.kind),
    state: 'reserved',
    undoneBecause: null,
    clientKey: clientKey ?? null,
    leaseOwner: random.uuid(),
    unattended: false,
    tries: 0,
    createdAt: now,
    startedAt: realTime.now(),
  };
  const insert = async (session: ClientSession): Promise<SlotRefusal | undefined> => {
    const reserved = await store.slots.reserve(session, slotOf(order), purchase.id, now);
    if (reserved !== 'reserved') return reserved;
    await store.walletPurchases.insert(session, purchase);
    return undefined;
  };
  // The saga reports its own effect, and a refusal has none.
  const refusal = await store.transaction(insert, { isEffect: false });
  return refusal === undefined ? { purchase } : { refusal };
};
