/**
 * Redeems an app-store purchase (specification 4.6). The order of the steps is the contract's; whatever the caller
 * controls is refused before the store is asked, and before a refusal the ledger has the last word.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { can, type UserCaller } from '@fitness/shared/caller.ts';
import { AppError, badRequest, failure, forbidden, message } from '@fitness/shared/error.ts';
import type { Attempt, Presentation } from '../domain/attempt.ts';
import { type Grant, type Order, slotOf } from '../domain/grant.ts';
import type { Offer } from '../domain/offer.ts';
import type { StorePurchase } from '../domain/purchase.ts';
import type { Target } from '../domain/target.ts';
import type { Verdict } from '../domain/verdict.ts';
import { SLOT_WAIT_MS } from '../domain/wallet-purchase.ts';
import type { SlotRefusal } from '../store/slots.ts';
import type { BillingDeps } from './deps.ts';
import { type GrantOutcome, grantStorePurchase } from './grant-store-purchase.ts';
import { assertOwnTarget } from './own-target.ts';

export interface Redemption {
  productId: string;
  purchaseToken: string;
  /** Present for a boost, whatever was sent for premium. */
  target: Target | null;
}

/** `fresh`: granted by this very call. Otherwise it is the replay of an earlier redemption. */
export interface Redeemed {
  fresh: boolean;
  grant: Grant;
}

export type RedeemStorePurchase = (caller: UserCaller, redemption: Redemption) => Promise<Redeemed>;

const POLL_MS = 50;

/** An unknown product, another's token and another product's token: one answer, so that nobody can tell them apart. */
const unknownPurchase = (internal: string): AppError =>
  new AppError({
    kind: 'not_found',
    code: 'store_purchase.not_found',
    message: message('store_purchase.not_found'),
    internal,
  });

const targetNotFound = (): AppError =>
  new AppError({
    kind: 'not_found',
    code: 'store_purchase.target_not_found',
    message: message('store_purchase.target_not_found'),
  });

const verificationFailed = (internal: string): AppError =>
  badRequest('store_purchase.verification_failed', message('store_purchase.verification_failed'), internal);

const alreadyRunning = (offer: Offer): AppError => {
  const code =
    offer.kind === 'premium' ? 'store_purchase.premium_already_active' : 'store_purchase.boost_already_live';
  return badRequest(code, message(code));
};

const grantFailed = (cause?: unknown): AppError =>
  failure(
    'store_purchase.grant_failed',
    message('store_purchase.grant_failed'),
    'confirmed by the store and not granted',
    cause,
  );

export const createRedeemStorePurchase =
  (deps: BillingDeps): RedeemStorePurchase =>
  async (caller, { productId, purchaseToken, target }) => {
    const { store, catalogue, channel, clock } = deps;
    const offer = catalogue.bySku(productId);
    if (offer === undefined) throw unknownPurchase('unknown product');
    assertMayBuy(caller, offer);
    const presentation = { channel: channel.name, productId, purchaseToken, userId: caller.userId, target };
    const replayed = await replay(deps, presentation);
    if (replayed !== undefined) return replayed;
    if (target !== null) await assertOwnTarget(deps.targets, caller, target, targetNotFound);
    const order = { userId: caller.userId, offer, target };
    const now = clock.now();
    // Journalled even when something stands against it: whoever has paid must not be left with nothing.
    const [attempt, slot] = await Promise.all([
      store.attempts.open(presentation, now),
      store.slots.look(slotOf(order), now),
    ]);
    if (slot === 'active') {
      await store.attempts.postpone(attempt, 'already running', now);
      return replayOr(deps, attempt, alreadyRunning(offer));
    }
    return judge(deps, attempt, order, await channel.verify(attempt));
  };

/** Specification 4.6 rule 1: holding one of the permissions does not grant the other. */
const assertMayBuy = (caller: UserCaller, offer: Offer): void => {
  const allowed =
    offer.kind === 'premium'
      ? can(caller, 'payments.buy_premium')
      : can(caller, 'payments.boost_own') || can(caller, 'payments.boost_all');
  if (!allowed) throw forbidden(`no permission for a ${offer.kind} product`);
};

/** What the ledger says about the token: the owner's grant, or 404 for everybody else; undefined when it is new. */
const replay = async (
  { store }: Pick<BillingDeps, 'store'>,
  { channel, purchaseToken, productId, userId }: Presentation,
): Promise<Redeemed | undefined> => {
  const known = await store.purchases.find(channel, purchaseToken);
  if (known === undefined) return undefined;
  if (known.userId !== userId) throw unknownPurchase('redeemed by another user');
  if (known.productId !== productId) throw unknownPurchase('redeemed for another product');
  return { fresh: false, grant: await grantOf(store, known) };
};

const grantOf = async (store: BillingDeps['store'], { grant, id }: StorePurchase): Promise<Grant> => {
  const found = await store.grants.find(grant.kind, grant.id);
  if (found === undefined) throw new Error(`the receipt ${id} has lost its grant`);
  return found;
};

/** A lost race is a replay: the ledger is read once more before any refusal. */
const replayOr = async (
  deps: BillingDeps,
  presentation: Presentation,
  refusal: AppError,
): Promise<Redeemed> => {
  const replayed = await replay(deps, presentation);
  if (replayed !== undefined) return replayed;
  throw refusal;
};

const judge = async (
  deps: BillingDeps,
  attempt: Attempt,
  order: Order,
  verdict: Verdict,
): Promise<Redeemed> => {
  const { store, clock, log } = deps;
  switch (verdict.kind) {
    case 'purchased':
      return grant(deps, attempt, order);
    case 'not_purchased':
      await store.attempts.close(attempt, verdict.reason, clock.now());
      return replayOr(deps, attempt, verificationFailed(verdict.reason));
    case 'unreadable':
      await store.attempts.postpone(attempt, verdict.kind, clock.now());
      return replayOr(deps, attempt, verificationFailed(verdict.detail));
    case 'credentials_refused':
      alertCredentials(deps, verdict.detail);
      break;
    case 'unreachable':
      log.warn({ channel: attempt.channel, detail: verdict.detail }, 'the store gave no answer');
      break;
  }
  await store.attempts.postpone(attempt, verdict.kind, clock.now());
  throw failure('payments.provider_error', message('payments.provider_error'), verdict.detail);
};

/** An operator must act: until then nobody can redeem anything. */
export const alertCredentials = (
  { log, channel }: Pick<BillingDeps, 'log' | 'channel'>,
  detail: string,
): void =>
  log.error(
    { alert: 'store_credentials_refused', channel: channel.name, detail },
    'the store refuses our own credentials',
  );

/** While a wallet purchase holds the slot, its end decides; it takes milliseconds. */
const grantWhenFree = async (deps: BillingDeps, attempt: Attempt, order: Order): Promise<GrantOutcome> => {
  const giveUpAt = performance.now() + SLOT_WAIT_MS;
  for (;;) {
    const granted = await grantStorePurchase(deps, attempt, order);
    const waiting = granted.outcome === 'refused' && granted.refusal.by === 'reserved';
    if (!waiting || performance.now() >= giveUpAt) return granted;
    await sleep(POLL_MS);
  }
};

const grant = async (deps: BillingDeps, attempt: Attempt, order: Order): Promise<Redeemed> => {
  const { store, clock } = deps;
  let granted: GrantOutcome;
  try {
    granted = await grantWhenFree(deps, attempt, order);
  } catch (error) {
    // The journal leaves it open: the background goes on from here.
    throw grantFailed(error);
  }
  if (granted.outcome === 'granted') return { fresh: true, grant: granted.grant };
  const replayed = await replay(deps, attempt);
  if (replayed !== undefined) return replayed;
  if (granted.outcome === 'already_redeemed') throw grantFailed();
  if (granted.refusal.by === 'reserved') {
    await store.attempts.postpone(attempt, 'reserved', clock.now());
    throw grantFailed();
  }
  await owe(deps, attempt, granted.refusal);
  throw granted.refusal.by === 'closed' ? targetNotFound() : alreadyRunning(order.offer);
};

/** Confirmed by the store, and it cannot be granted: the operators give the money back. */
export const owe = async (
  { store, clock, log }: Pick<BillingDeps, 'store' | 'clock' | 'log'>,
  attempt: Attempt,
  refusal: Pick<SlotRefusal, 'by'>,
): Promise<void> => {
  const now = clock.now();
  const reason = refusal.by === 'closed' ? 'target_gone' : 'already_running';
  // The queue first: an attempt that is settled is not looked at again.
  await store.refunds.owe(attempt, reason, now);
  await store.attempts.settle(attempt, 'refund_due', reason, now);
  log.warn({ attempt: attempt.id, user_id: attempt.userId, reason }, 'a paid purchase is to be refunded');
};
