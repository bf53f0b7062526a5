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
import type { Target } from '../domain/target.ts';
import type { Verdict } from '../domain/verdict.ts';
import { isAtRest, SLOT_WAIT_MS } from '../domain/wallet-purchase.ts';
import type { Standing } from '../store/ledger.ts';
import type { SlotRefusal } from '../store/slots.ts';
import type { BillingDeps } from './deps.ts';
import { type GrantOutcome, grantStorePurchase } from './grant-store-purchase.ts';
import { assertOwnTarget } from './own-target.ts';

interface Redemption {
  productId: string;
  purchaseToken: string;
  /** Present for a boost, whatever was sent for premium. */
  target: Target | null;
}

/** `fresh`: granted by this very call. Otherwise it is the replay of an earlier redemption. */
interface Redeemed {
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

const providerError = (detail: string): AppError =>
  failure('payments.provider_error', message('payments.provider_error'), detail);

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
    const order = { userId: caller.userId, offer, target };
    const presentation = { channel: channel.name, productId, purchaseToken, userId: caller.userId, target };
    const now = clock.now();
    const standing = await store.ledger.look(presentation, slotOf(order), now);
    if (standing.redeemed !== undefined) return replay(presentation, standing.redeemed);
    if (target !== null) await assertOwnTarget(deps.targets, caller, target, targetNotFound);
    if (standing.slot === 'active') return refuseRunning(deps, presentation, order, now);
    const [attempt, grantId] = await Promise.all([
      store.attempts.open(presentation, now),
      store.grants.nextId(offer.kind),
    ]);
    if (attempt === 'granted') return replayOr(deps, presentation, order, grantFailed());
    const verdict = await channel.verify(attempt);
    if (verdict.kind !== 'purchased') return refuse(deps, attempt, order, verdict);
    const isNewSlot = standing.slot === 'missing';
    return grant(deps, { attempt, order, grantId, isNewSlot, patienceMs: deps.requestPatienceMs });
  };

/** Specification 4.6 rule 1: holding one of the permissions does not grant the other. */
const assertMayBuy = (caller: UserCaller, offer: Offer): void => {
  const allowed =
    offer.kind === 'premium'
      ? can(caller, 'payments.buy_premium')
      : can(caller, 'payments.boost_own') || can(caller, 'payments.boost_all');
  if (!allowed) throw forbidden(`no permission for a ${offer.kind} product`);
};

/** What the ledger says about a redeemed token: the owner's grant, or 404 for everybody else. */
const replay = (
  { productId, userId }: Presentation,
  { purchase, grant }: NonNullable<Standing['redeemed']>,
): Redeemed => {
  if (purchase.userId !== userId) throw unknownPurchase('redeemed by another user');
  if (purchase.productId !== productId) throw unknownPurchase('redeemed for another product');
  return { fresh: false, grant };
};

/** A lost race is a replay: the ledger is read once more before any refusal. */
const replayOr = async (
  { store, clock }: Pick<BillingDeps, 'store' | 'clock'>,
  presentation: Presentation,
  order: Order,
  refusal: AppError,
): Promise<Redeemed> => {
  const { redeemed } = await store.ledger.look(presentation, slotOf(order), clock.now());
  if (redeemed === undefined) throw refusal;
  return replay(presentation, redeemed);
};

/** Journalled all the same: whoever has paid must not be left with nothing. */
const refuseRunning = async (
  deps: BillingDeps,
  presentation: Presentation,
  order: Order,
  now: Date,
): Promise<Redeemed> => {
  const { attempts } = deps.store;
  const attempt = await attempts.open(presentation, now);
  if (attempt !== 'granted') await attempts.postpone(attempt, 'already running', now);
  return replayOr(deps, presentation, order, alreadyRunning(order.offer));
};

/** The store did not confirm it: what that means for the client and for the journal. */
const refuse = async (
  deps: BillingDeps,
  attempt: Attempt,
  order: Order,
  verdict: Exclude<Verdict, { kind: 'purchased' }>,
): Promise<Redeemed> => {
  const { store, clock, log } = deps;
  switch (verdict.kind) {
    case 'not_purchased':
      await store.attempts.settle(attempt, 'closed', verdict.reason, clock.now());
      return replayOr(deps, attempt, order, verificationFailed(verdict.reason));
    case 'unreadable':
      await store.attempts.postpone(attempt, verdict.kind, clock.now());
      return replayOr(deps, attempt, order, verificationFailed(verdict.detail));
    case 'credentials_refused':
      alertCredentials(deps, verdict.detail);
      break;
    case 'unreachable':
      log.warn({ channel: attempt.channel, detail: verdict.detail }, 'the store gave no answer');
      break;
  }
  await store.attempts.postpone(attempt, verdict.kind, clock.now());
  return replayOr(deps, attempt, order, providerError(verdict.detail));
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

interface Confirmed {
  attempt: Attempt;
  order: Order;
  grantId: number;
  isNewSlot: boolean;
  patienceMs: number;
}

/**
 * While a wallet purchase that is being driven holds the slot, its end decides; it takes milliseconds. One that is at
 * rest, or takes too long, is passed over: what it has charged goes back to the wallet, and the store gives nothing back.
 */
export const grantWhenFree = async (deps: BillingDeps, confirmed: Confirmed): Promise<GrantOutcome> => {
  const giveUpAt = performance.now() + SLOT_WAIT_MS;
  for (let heldBy: string | null = null; ; ) {
    const granted = await grantStorePurchase(deps, { ...confirmed, heldBy });
    if (granted.outcome !== 'refused' || granted.refusal.by !== 'reserved') return granted;
    heldBy = granted.refusal.purchaseId;
    await untilAtRest(deps, heldBy, giveUpAt);
  }
};

const untilAtRest = async ({ store }: BillingDeps, purchaseId: string, giveUpAt: number): Promise<void> => {
  while (performance.now() < giveUpAt) {
    const found = await store.walletPurchases.find(purchaseId);
    if (found === undefined || isAtRest(found)) return;
    await sleep(POLL_MS);
  }
};

const grant = async (deps: BillingDeps, confirmed: Confirmed): Promise<Redeemed> => {
  const { attempt, order } = confirmed;
  let granted: GrantOutcome;
  try {
    granted = await grantWhenFree(deps, confirmed);
  } catch (error) {
    // The journal leaves it open: the background goes on from here.
    throw grantFailed(error);
  }
  if (granted.outcome === 'granted') return { fresh: true, grant: granted.grant };
  if (granted.outcome === 'already_redeemed') return replayOr(deps, attempt, order, grantFailed());
  const { refusal } = granted;
  const { redeemed } = await deps.store.ledger.look(attempt, slotOf(order), deps.clock.now());
  if (redeemed !== undefined) return replay(attempt, redeemed);
  await owe(deps, attempt, order, refusal);
  throw refusal.by === 'closed' ? targetNotFound() : alreadyRunning(order.offer);
};

/** Confirmed by the store, and it cannot be granted: the operators give the money back. */
export const owe = async (
  { store, clock, log }: Pick<BillingDeps, 'store' | 'clock' | 'log'>,
  attempt: Attempt,
  order: Order,
  refusal: Pick<SlotRefusal, 'by'>,
): Promise<void> => {
  const now = clock.now();
  const reason = refusal.by === 'closed' ? 'target_gone' : 'already_running';
  // The queue first: an attempt that is settled is not looked at again.
  await store.refunds.owe(attempt, reason, now);
  // Presented for something else it may have been granted at this moment: whoever comes second sees the other.
  const { redeemed } = await store.ledger.look(attempt, slotOf(order), now);
  if (redeemed !== undefined) await store.refunds.resolve(attempt, 'granted', now);
  await store.attempts.settle(attempt, 'refund_due', reason, now);
  log.warn({ attempt: attempt.id, user_id: attempt.userId, reason }, 'a paid purchase is to be refunded');
};
