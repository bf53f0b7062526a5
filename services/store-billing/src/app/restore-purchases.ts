/**
 * Run after a restore of a backup, before the gateway starts. Purchases that were granted since the backup are verified
 * again and granted. Purchases that were confirmed but not granted are only listed, because an operator may have returned
 * the money. Repeatable, because a token is granted once.
 */
import { isAccountOf } from '@fitness/contracts/user.ts';
import type { Progress } from '@fitness/shared/kernel/progress.mjs';
import type { Dependencies } from '../dependencies.ts';
import type { AttemptState } from '../domain/attempt.ts';
import { slotOf } from '../domain/grant.ts';
import { type JournaledPurchase, presentationOf } from '../domain/journal.ts';
import { verifyAgain } from './verify-attempts.ts';

/**
 * The state of the attempt; an `open` one is verified again by the background. `not_granted`: it was not granted before the
 * restore, either. `no_account`: the account is erased, or newer than the backup. `no_target`: the gym or training service is gone,
 * or newer than the backup. `not_sold`: this configuration lacks the product or the store. Nothing is stored for the last four.
 */
export type RestoredPurchaseState = AttemptState | 'not_granted' | 'no_account' | 'no_target' | 'not_sold';

interface RestoredPurchase extends JournaledPurchase {
  state: RestoredPurchaseState;
}

/** Restores and returns the purchases in the journal that the database lacked. */
type RestorePurchases = (progress: Progress) => Promise<RestoredPurchase[]>;

export const createRestorePurchases = (dependencies: Dependencies): RestorePurchases => {
  const { store, users, targets, clock, catalogue, channel, purchaseJournal } = dependencies;

  /** Undefined for a purchase that the database has. */
  const restore = async (
    purchase: JournaledPurchase,
    wasGranted: boolean,
  ): Promise<RestoredPurchaseState | undefined> => {
    const presentation = presentationOf(purchase);
    const { userId, productId, target } = presentation;
    const offer = catalogue.bySku(productId);
    if (offer === undefined || presentation.channel !== channel.name) return 'not_sold';
    const slot = slotOf({ userId, offer, target });
    const { redeemed } = await store.ledger.read(presentation, slot, clock.now());
    if (redeemed !== undefined) return undefined;
    if (!(await isAccountOf(users, userId, purchase.confirmed_at))) return 'no_account';
    if (!wasGranted) return 'not_granted';
    // Its id will be assigned again. A purchase that waits would boost another one.
    if (target !== null && (await targets.find(target)) === undefined) return 'no_target';
    const attempt = await store.attempts.open(presentation, clock.now());
    if (attempt === 'granted') return undefined;
    await verifyAgain(dependencies, attempt);
    return (await store.attempts.find(attempt.id))?.state;
  };

  return async (progress) => {
    const purchases = new Map<string, { purchase: JournaledPurchase; wasGranted: boolean }>();
    // Granted purchases come first, because several users may have presented the same token.
    for (const state of ['done', 'begun'] as const) {
      for await (const { content } of purchaseJournal.entries(state)) {
        const key = JSON.stringify(presentationOf(content));
        const earlier = purchases.get(key);
        if (earlier === undefined || content.confirmed_at < earlier.purchase.confirmed_at)
          purchases.set(key, { purchase: content, wasGranted: earlier?.wasGranted ?? state === 'done' });
      }
    }
    progress.expect(purchases.size);
    const restored: RestoredPurchase[] = [];
    for (const { purchase, wasGranted } of purchases.values()) {
      const state = await restore(purchase, wasGranted);
      if (state !== undefined) restored.push({ ...purchase, state });
      progress.advance('purchases of the journal');
    }
    return restored;
  };
};
