/**
 * Follows redemptions that ended without a verdict: the store is asked again for 72 hours, and what it confirms is
 * granted when nothing stands against it, else owed back.
 */
import type { Attempt } from '../domain/attempt.ts';
import { type Order, slotOf } from '../domain/grant.ts';
import type { Standing } from '../store/ledger.ts';
import type { BillingDeps } from './deps.ts';
import { BACKGROUND_PATIENCE_MS } from './patience.ts';
import { alertCredentials, grantWhenFree, owe } from './redeem-store-purchase.ts';

const AT_ONCE = 50;

export const createVerifyAttempts =
  (deps: BillingDeps): (() => Promise<void>) =>
  async () => {
    const { store, channel, clock, log } = deps;
    for (const attempt of await store.attempts.due(channel.name, clock.now(), AT_ONCE)) {
      if (!(await store.attempts.claim(attempt, clock.now()))) continue;
      try {
        await verifyAgain(deps, attempt);
      } catch (error) {
        // Its turn comes again; the others are not held up.
        log.warn({ err: error, attempt: attempt.id }, 'an attempt could not be verified again');
        await store.attempts.postpone(attempt, 'failed', clock.now());
      }
    }
  };

const verifyAgain = async (deps: BillingDeps, attempt: Attempt): Promise<void> => {
  const { store, channel, clock, catalogue } = deps;
  const offer = catalogue.bySku(attempt.productId);
  if (offer === undefined) throw new Error(`the product ${attempt.productId} is not sold any more`);
  const order = { userId: attempt.userId, offer, target: attempt.target };
  const standing = await store.ledger.look(attempt, slotOf(order), clock.now());
  if (await isRedeemed(deps, attempt, standing)) return;
  const verdict = await channel.verify(attempt);
  switch (verdict.kind) {
    case 'purchased':
      return grantLate(deps, attempt, order, standing);
    case 'not_purchased':
      return store.attempts.settle(attempt, 'closed', verdict.reason, clock.now());
    case 'credentials_refused':
      alertCredentials(deps, verdict.detail);
      return askAgain(deps, attempt, verdict.kind);
    default:
      return askAgain(deps, attempt, verdict.kind);
  }
};

/** Later, while there is time; decided after a question, so that nothing is given up that nobody could ask about. */
const askAgain = async (
  { store, clock, log }: BillingDeps,
  attempt: Attempt,
  reason: string,
): Promise<void> => {
  const now = clock.now();
  if (now < attempt.giveUpAt) return store.attempts.postpone(attempt, reason, now);
  log.error({ attempt: attempt.id, user_id: attempt.userId }, 'no verdict on a purchase in time');
  return store.attempts.settle(attempt, 'given_up', 'no_verdict', now);
};

/** Whether the ledger has decided about the token meanwhile, for him or for another. */
const isRedeemed = async (
  { store, clock }: BillingDeps,
  attempt: Attempt,
  { redeemed }: Standing,
): Promise<boolean> => {
  if (redeemed === undefined) return false;
  const { userId, productId } = redeemed.purchase;
  const his = userId === attempt.userId && productId === attempt.productId;
  await store.attempts.settle(attempt, his ? 'granted' : 'closed', his ? null : 'redeemed', clock.now());
  return true;
};

const grantLate = async (
  deps: BillingDeps,
  attempt: Attempt,
  order: Order,
  { slot }: Standing,
): Promise<void> => {
  const { store, targets, clock } = deps;
  const { target } = attempt;
  if (target !== null && (await targets.find(target)) === undefined)
    return owe(deps, attempt, order, { by: 'closed' });
  const confirmed = {
    attempt,
    order,
    grantId: await store.grants.nextId(order.offer.kind),
    isNewSlot: slot === 'missing',
    patienceMs: BACKGROUND_PATIENCE_MS,
  };
  const granted = await grantWhenFree(deps, confirmed);
  if (granted.outcome === 'granted') return;
  if (granted.outcome === 'refused') return owe(deps, attempt, order, granted.refusal);
  await isRedeemed(deps, attempt, await store.ledger.look(attempt, slotOf(order), clock.now()));
};
