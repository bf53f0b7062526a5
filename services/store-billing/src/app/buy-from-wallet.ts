/**
 * Premium and boosts paid from the wallet. The slot is reserved before the wallet is charged, so that what is charged
 * can be given; a crash at any step is finished, or undone, by whoever takes the saga over.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { AppError, badRequest, invalid, isAppError, message, unavailable } from '@fitness/shared/error.ts';
import { storedKey } from '@fitness/shared/http/idempotency.ts';
import type { ClientSession } from '@fitness/shared/mongo/connect.ts';
import { type Grant, type Order, payableTypeOf, slotOf } from '../domain/grant.ts';
import type { Offer } from '../domain/offer.ts';
import {
  CLIENT_KEY_MS,
  chargeKey,
  isAtRest,
  isOver,
  refundKey,
  SAGA_LEASE_MS,
  SLOT_WAIT_MS,
  type WalletPurchase,
} from '../domain/wallet-purchase.ts';
import type { SlotRefusal } from '../store/slots.ts';
import type { BillingDeps } from './deps.ts';
import { BACKGROUND_PATIENCE_MS } from './patience.ts';
import { placeGrant } from './place-grant.ts';

export interface WalletOrder {
  order: Order;
  clientKey: string | undefined;
  /** Called last inside the transaction of the grant. */
  complete: (session: ClientSession, grant: Grant) => Promise<void>;
}

/** Who drives a saga: what he does in its last transaction, and for how long he tries that. */
interface Driver extends Pick<WalletOrder, 'complete'> {
  patienceMs: number;
}

/**
 * Throws 400 `payments.premium_already_active`, `payments.boost_already_live` or `payments.insufficient_balance`, and
 * `unavailable` while nobody can say whether the wallet was charged: the saga is then finished in the background.
 */
export type BuyFromWallet = (wanted: WalletOrder) => Promise<Grant>;

const POLL_MS = 50;
const AT_ONCE = 50;

export const targetNotFound = (): AppError =>
  new AppError({
    kind: 'not_found',
    code: 'payments.target_not_found',
    message: message('payments.target_not_found'),
  });

const alreadyRunning = (offer: Offer): AppError => {
  const code = offer.kind === 'premium' ? 'payments.premium_already_active' : 'payments.boost_already_live';
  return badRequest(code, message(code));
};

const refusalError = (refusal: Pick<SlotRefusal, 'by'>, offer: Offer): AppError =>
  refusal.by === 'closed' ? targetNotFound() : alreadyRunning(offer);

export const createBuyFromWallet =
  (deps: BillingDeps): BuyFromWallet =>
  async ({ order, clientKey: given, complete }) => {
    const clientKey = given === undefined ? undefined : storedKey(order.userId, given);
    const known = await findEarlier(deps, order, clientKey);
    const driver = { complete, patienceMs: deps.requestPatienceMs };
    if (known !== undefined) return finishEarlier(deps, known, driver);
    const { store, clock } = deps;
    const slot = slotOf(order);
    if ((await store.slots.look(slot, clock.now())) === 'active') throw alreadyRunning(order.offer);
    const giveUpAt = performance.now() + SLOT_WAIT_MS;
    for (;;) {
      const reserved = await reserve(deps, order, clientKey);
      if ('purchase' in reserved) return drive(deps, reserved.purchase, driver);
      const { refusal } = reserved;
      if (refusal.by !== 'reserved') throw refusalError(refusal, order.offer);
      const holder = await waitFor(deps, refusal.purchaseId, giveUpAt);
      if (holder.state === 'reserved')
        throw unavailable(`${slot} is held by the wallet purchase ${holder.id}`);
    }
  };

/** What the same `Idempotency-Key` began before, if it came to anything or still may. */
const findEarlier = async (
  { store, clock }: BillingDeps,
  order: Order,
  clientKey: string | undefined,
): Promise<WalletPurchase | undefined> => {
  if (clientKey === undefined) return undefined;
  const since = new Date(clock.now().getTime() - CLIENT_KEY_MS);
  const known = await store.walletPurchases.findByClientKey(order.userId, clientKey, since);
  if (known === undefined) return undefined;
  if (slotOf(known.order) !== slotOf(order) || !sameOffer(known.order.offer, order.offer))
    throw invalid({ idempotency_key: message('idempotency.other_body') });
  return known.state === 'undone' || known.state === 'refunded' ? undefined : known;
};

/** The price may have changed since; it is the same wish all the same. */
const sameOffer = (one: Offer, other: Offer): boolean =>
  one.kind === other.kind && (one.kind === 'premium' || other.kind === 'premium' || one.name === other.name);

const finishEarlier = async (deps: BillingDeps, purchase: WalletPurchase, driver: Driver): Promise<Grant> => {
  const giveUpAt = performance.now() + SLOT_WAIT_MS;
  const settled = await waitFor(deps, purchase.id, giveUpAt, driver);
  if (settled.state === 'granted') return grantOf(deps, settled);
  if (settled.state === 'undone') throw undoneError(settled);
  if (settled.state === 'refunded' || settled.state === 'refunding') throw givenBackError(settled);
  throw unavailable(`the wallet purchase ${purchase.id} is not settled yet`);
};

const undoneError = ({ order, undoneBecause }: WalletPurchase): AppError =>
  undoneBecause === 'payments.insufficient_balance'
    ? badRequest(undoneBecause, message('payments.insufficient_balance'))
    : undoneBecause === null
      ? alreadyRunning(order.offer)
      : unavailable(`the wallet refused: ${undoneBecause}`);

/** Charged, and not given: somebody else had taken the slot, or it is closed for good. */
const givenBackError = ({ order, undoneBecause }: WalletPurchase): AppError =>
  refusalError({ by: undoneBecause === 'active' ? 'active' : 'closed' }, order.offer);

const grantOf = async ({ store }: BillingDeps, { order, grantId, id }: WalletPurchase): Promise<Grant> => {
  const grant = await store.grants.find(order.offer.kind, grantId);
  if (grant === undefined) throw new Error(`the wallet purchase ${id} has lost its grant`);
  return grant;
};

const reserve = async (
  deps: BillingDeps,
  order: Order,
  clientKey: string | undefined,
): Promise<{ purchase: WalletPurchase } | { refusal: SlotRefusal }> => {
  const { store, clock, random } = deps;
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
    leaseUntil: new Date(now.getTime() + SAGA_LEASE_MS),
    unattended: false,
    tries: 0,
    createdAt: now,
  };
  const refusal = await store.transaction(async (session) => {
    const reserved = await store.slots.reserve(session, slotOf(order), purchase.id, now);
    if (reserved !== 'reserved') return reserved;
    await store.walletPurchases.insert(session, purchase);
    return undefined;
  });
  return refusal === undefined ? { purchase } : { refusal };
};

/** Takes one step after the other until it is over. The caller holds the lease. */
const drive = async (deps: BillingDeps, purchase: WalletPurchase, driver: Driver): Promise<Grant> => {
  const { store, wallet, log } = deps;
  const { order, amount, grantId } = purchase;
  const charge = {
    userId: order.userId,
    amount,
    payableType: payableTypeOf(order.offer.kind),
    payableId: grantId,
  };
  if (purchase.state === 'refunding') {
    await giveBack(deps, purchase, charge);
    throw givenBackError(purchase);
  }
  const charged = await wallet.charge({ key: chargeKey(purchase.id), ...charge });
  if (charged.outcome === 'unknown') {
    log.warn(
      { err: charged.error, wallet_purchase: purchase.id },
      'nobody knows whether a wallet was charged',
    );
    await store.walletPurchases.leave(purchase);
    throw unavailable('the wallet did not answer', charged.error);
  }
  if (charged.outcome === 'refused') {
    const undone = await store.transaction(async (session) => {
      if (!(await store.walletPurchases.undo(session, purchase, charged.error.code))) return false;
      await store.slots.release(session, slotOf(order), purchase.id);
      return true;
    });
    if (!undone) throw unavailable(`the wallet purchase ${purchase.id} was taken over`);
    if (charged.error.code === 'payments.insufficient_balance') throw charged.error;
    throw unavailable(`the wallet refused: ${charged.error.code}`, charged.error);
  }
  const settled = await settle(deps, purchase.id, driver);
  if ('grant' in settled) return settled.grant;
  await giveBack(deps, purchase, charge);
  throw refusalError(settled.refusal, order.offer);
};

type Settled = { grant: Grant } | { refusal: Pick<SlotRefusal, 'by'> };

/** The wallet was charged: the grant is made, or the way back begins. */
const settle = (deps: BillingDeps, id: string, { complete, patienceMs }: Driver): Promise<Settled> => {
  const { store, clock } = deps;
  const work = async (session: ClientSession): Promise<Settled> => {
    const current = await store.walletPurchases.find(id, session);
    if (current === undefined) throw new Error(`the wallet purchase ${id} is not there`);
    if (current.state === 'granted') return { grant: await grantOf(deps, current) };
    if (current.state === 'refunding' || current.state === 'refunded')
      return { refusal: { by: current.undoneBecause === 'active' ? 'active' : 'closed' } };
    const { order, grantId } = current;
    // Also when it was passed over, or undone by somebody whose lease had run out: it is charged, so it is granted if
    // that is possible.
    const placement = { order, grantId, source: 'wallet', heldBy: id, isNewSlot: false };
    const placed = await placeGrant(deps, session, placement);
    if ('refusal' in placed) {
      const until = new Date(clock.now().getTime() + SAGA_LEASE_MS);
      await store.walletPurchases.startRefund(session, current, placed.refusal.by, until);
      await store.slots.release(session, slotOf(order), id);
      return placed;
    }
    await store.walletPurchases.move(session, id, current.state, 'granted');
    await complete(session, placed.grant);
    return placed;
  };
  return store.transaction(work, { deadlineMs: patienceMs });
};

const giveBack = async (
  { store, wallet, log }: BillingDeps,
  { id }: WalletPurchase,
  charge: Omit<Parameters<BillingDeps['wallet']['refund']>[0], 'key'>,
): Promise<void> => {
  const refunded = await wallet.refund({ key: refundKey(id), ...charge });
  if (refunded.outcome !== 'booked') {
    log.error(
      { err: refunded.error, wallet_purchase: id },
      'a charge could not be given back; it will be tried again',
    );
    return;
  }
  await store.transaction((session) => store.walletPurchases.move(session, id, 'refunding', 'refunded'));
};

/** Nobody waits for it, and the others are not held up. */
const BACKGROUND: Driver = { complete: async () => undefined, patienceMs: BACKGROUND_PATIENCE_MS };

/** Waits for another request's saga; takes it over when its lease has run out. Gives it as it was last seen. */
const waitFor = async (
  deps: BillingDeps,
  id: string,
  giveUpAt: number,
  driver: Driver = { ...BACKGROUND, patienceMs: deps.requestPatienceMs },
): Promise<WalletPurchase> => {
  const { store } = deps;
  for (;;) {
    const found = await store.walletPurchases.find(id);
    if (found === undefined) throw new Error(`the wallet purchase ${id} is not there`);
    if (isOver(found) || performance.now() >= giveUpAt) return found;
    if (await continueIfLeft(deps, id, driver)) continue;
    if (isAtRest(found)) return found;
    await sleep(POLL_MS);
  }
};

/** False when somebody else drives it. */
const continueIfLeft = async (deps: BillingDeps, id: string, driver: Driver): Promise<boolean> => {
  const { store, random, clock, log } = deps;
  const mine = await store.walletPurchases.takeOver(id, random.uuid(), clock.now());
  if (mine === undefined) return false;
  try {
    await drive(deps, mine, driver);
  } catch (error) {
    // A refusal ends it as well as a grant does; without an answer its turn comes again.
    if (!isAppError(error)) throw error;
    log.info(
      { wallet_purchase: id, outcome: error.code },
      'a wallet purchase was taken over and not granted',
    );
  }
  return true;
};

/** Finishes, or undoes, what a crash or a silent wallet left half done. */
export const createSweepWalletPurchases =
  (deps: BillingDeps): (() => Promise<void>) =>
  async () => {
    for (const id of await deps.store.walletPurchases.due(deps.clock.now(), AT_ONCE)) {
      try {
        await continueIfLeft(deps, id, BACKGROUND);
      } catch (error) {
        deps.log.error({ err: error, wallet_purchase: id }, 'a wallet purchase could not be continued');
      }
    }
  };
