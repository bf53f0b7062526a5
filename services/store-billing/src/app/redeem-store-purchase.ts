/**
 * Redeems an app-store purchase (specification 4.6). The steps follow the order of the contract: everything that the caller
 * controls is checked before the store is asked.
 */
import { can, type UserCaller } from '@fitness/shared/kernel/caller.ts';
import { type AppError, isAppError } from '@fitness/shared/kernel/error.ts';
import { missingPermission } from '@fitness/shared/kernel/missing-permission.ts';
import type { Permission } from '@fitness/shared/kernel/permissions.ts';
import type { Dependencies } from '../dependencies.ts';
import type { Attempt, Presentation } from '../domain/attempt.ts';
import { type Grant, type Order, slotOf } from '../domain/grant.ts';
import type { Offer } from '../domain/offer.ts';
import type { Target } from '../domain/target.ts';
import type { Verdict } from '../domain/verdict.ts';
import type { RedeemedPurchase } from '../store/ledger.ts';
import { alertRefusedCredentials } from './alert-refused-credentials.ts';
import { assertMayBoost } from './assert-may-boost.ts';
import { enqueueRefund } from './enqueue-refund.ts';
import { type ConfirmedPurchase, grantStorePurchase } from './grant-store-purchase.ts';
import {
  alreadyRunning,
  grantFailed,
  providerError,
  targetNotFound,
  unknownPurchase,
  verificationFailed,
} from './redemption-errors.ts';

interface Redemption {
  productId: string;
  purchaseToken: string;
  /** Null for premium, even when the client sent a target. */
  target: Target | null;
}

interface Redeemed {
  /** Whether this call granted it; false for a replay of an earlier redemption. */
  isNew: boolean;
  grant: Grant;
}

export const createRedeemStorePurchase =
  (dependencies: Dependencies) =>
  async (caller: UserCaller, { productId, purchaseToken, target }: Redemption): Promise<Redeemed> => {
    const { store, catalogue, channel, targets, clock, requestTransactionTimeoutMs } = dependencies;
    const offer = catalogue.bySku(productId);
    if (offer === undefined) throw unknownPurchase('unknown product');
    assertMayBuy(caller, offer);
    const order: Order = { userId: caller.userId, offer, target };
    const presentation = { channel: channel.name, productId, purchaseToken, userId: caller.userId, target };
    const now = clock.now();
    const { redeemed, slot } = await store.ledger.read(presentation, slotOf(order), now);
    if (redeemed !== undefined) return replay(presentation, redeemed);
    if (target !== null) {
      const boosted = await assertMayBoost(targets, caller, target, targetNotFound);
      order.target = boosted;
      presentation.target = boosted;
    }
    if (slot === 'active') return refuseActiveSlot(dependencies, presentation, order, now);
    const [attempt, grantId, refund] = await Promise.all([
      store.attempts.open(presentation, now),
      store.grants.nextId(offer.kind),
      store.refunds.ofPurchase(presentation),
    ]);
    if (attempt === 'granted') return replayOrThrow(dependencies, presentation, order, grantFailed());
    if (refund?.resolution != null) return refuseUnconfirmed(dependencies, attempt, order, REFUNDED);
    const verdict = await channel.verify(attempt);
    if (verdict.kind !== 'purchased') return refuseUnconfirmed(dependencies, attempt, order, verdict);
    return grantConfirmed(dependencies, {
      attempt,
      verdict,
      order,
      grantId,
      isNewSlot: slot === 'missing',
      refund,
      operator: null,
      transactionTimeoutMs: requestTransactionTimeoutMs,
    });
  };

const NEEDED: Readonly<Record<Offer['kind'], readonly Permission[]>> = {
  premium: ['payments.buy_premium'],
  boost: ['payments.boost_own', 'payments.boost_all'],
};

/** Specification 4.6 rule 1: the permission for one kind of product does not cover the other. */
const assertMayBuy = (caller: UserCaller, offer: Offer): void => {
  const permissions = NEEDED[offer.kind];
  if (!permissions.some((permission) => can(caller, permission)))
    throw missingPermission(caller, { permissions });
};

/** The grant for its owner, 404 for everyone else. */
const replay = ({ productId, userId }: Presentation, { purchase, grant }: RedeemedPurchase): Redeemed => {
  if (purchase.userId !== userId) throw unknownPurchase('redeemed by another user');
  if (purchase.productId !== productId) throw unknownPurchase('redeemed for another product');
  return { isNew: false, grant };
};

/** Reads the ledger once more before a refusal: a concurrent request may have redeemed the token. */
const replayOrThrow = async (
  { store, clock }: Dependencies,
  presentation: Presentation,
  order: Order,
  refusal: AppError,
): Promise<Redeemed> => {
  const { redeemed } = await store.ledger.read(presentation, slotOf(order), clock.now());
  if (redeemed === undefined) throw refusal;
  return replay(presentation, redeemed);
};

/** Writes the attempt to the journal, too. The background verifies whether the purchase was paid and must be refunded. */
const refuseActiveSlot = async (
  dependencies: Dependencies,
  presentation: Presentation,
  order: Order,
  now: Date,
): Promise<Redeemed> => {
  const { attempts } = dependencies.store;
  const attempt = await attempts.open(presentation, now);
  if (attempt !== 'granted') await attempts.postpone(attempt, 'already running', now);
  return replayOrThrow(dependencies, presentation, order, alreadyRunning(order.offer));
};

/** The verdict on a purchase that an operator refunded, whatever the store says. */
const REFUNDED = { kind: 'not_purchased', reason: 'refunded' } as const satisfies Verdict;

/** Refuses a purchase that the store did not confirm. */
const refuseUnconfirmed = async (
  dependencies: Dependencies,
  attempt: Attempt,
  order: Order,
  verdict: Exclude<Verdict, { kind: 'purchased' }>,
): Promise<Redeemed> => {
  const { store, clock, log } = dependencies;
  switch (verdict.kind) {
    case 'not_purchased':
      await store.attempts.finish(attempt, 'closed', verdict.reason, clock.now());
      return replayOrThrow(dependencies, attempt, order, verificationFailed(verdict.reason));
    case 'unreadable':
      await store.attempts.postpone(attempt, verdict.kind, clock.now());
      return replayOrThrow(dependencies, attempt, order, verificationFailed(verdict.detail));
    case 'credentials_refused':
      alertRefusedCredentials(dependencies, verdict.detail);
      break;
    case 'unreachable':
      log.warn({ channel: attempt.channel, detail: verdict.detail }, 'the store did not respond');
      break;
  }
  await store.attempts.postpone(attempt, verdict.kind, clock.now());
  return replayOrThrow(dependencies, attempt, order, providerError(verdict.detail));
};

/** Once the store has confirmed, every failure is `store_purchase.grant_failed`, even after a refused grant. */
const grantConfirmed = async (
  dependencies: Dependencies,
  confirmed: ConfirmedPurchase,
): Promise<Redeemed> => {
  try {
    return await grantOrRefuse(dependencies, confirmed);
  } catch (error) {
    if (isAppError(error) && error.kind !== 'unavailable') throw error;
    // The attempt stays open in the journal, so the background retries the grant.
    throw grantFailed(error);
  }
};

const grantOrRefuse = async (dependencies: Dependencies, confirmed: ConfirmedPurchase): Promise<Redeemed> => {
  const { store, clock } = dependencies;
  const { attempt, order } = confirmed;
  const granted = await grantStorePurchase(dependencies, confirmed);
  if (granted.outcome === 'granted') return { isNew: true, grant: granted.grant };
  if (granted.outcome === 'refunded') return refuseUnconfirmed(dependencies, attempt, order, REFUNDED);
  if (granted.outcome === 'already_redeemed')
    return replayOrThrow(dependencies, attempt, order, grantFailed());
  const { refusal } = granted;
  const { redeemed } = await store.ledger.read(attempt, slotOf(order), clock.now());
  if (redeemed !== undefined) return replay(attempt, redeemed);
  await enqueueRefund(dependencies, attempt, order, refusal);
  throw refusal.by === 'closed' ? targetNotFound() : alreadyRunning(order.offer);
};
