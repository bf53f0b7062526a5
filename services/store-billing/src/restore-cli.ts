/**
 * `npm run restore:store-billing -- --backup <id> --lost-at <time>`: run it after the database is restored from a backup and after
 * `npm run restore:identity`, while the services run and the gateway does not. Verifies and grants again the store purchases that were granted since
 * the backup, and lists the outcome of each journal entry. It refuses a journal that is not complete; `--without-journal`
 * overrides. Repeatable. Exit codes are those of `npm run rebuild:content`, and 64 for wrong usage.
 */
import { formatTimestamp } from '@fitness/shared/kernel/clock.ts';
import { pluralize } from '@fitness/shared/kernel/pluralize.ts';
import { runRestore } from '@fitness/shared/runtime/restore.ts';
import type { RestoredPurchaseState } from './app/restore-purchases.ts';
import { readConfig } from './config.ts';
import { createDependencies } from './dependencies.ts';
import { createUseCases } from './use-cases.ts';

const MEANINGS: Readonly<Record<RestoredPurchaseState, string>> = {
  granted: 'granted',
  open: 'no response from the store: verified again like every purchase',
  refund_due: 'paid and cannot be granted: in the refund queue',
  closed: 'the store does not confirm it any more, or it is granted to another user',
  given_up: 'no response from the store in time',
  not_granted:
    'paid, and not granted before either: it is granted when its user presents it again; look at the store whether it was refunded since',
  no_account: 'nothing is granted, because the account is erased or younger than the backup',
  no_target:
    'nothing is granted, because the gym or training service is gone or younger than the backup: refund it at the store',
  not_sold: 'nothing is granted: this configuration does not have the product or the store',
};

await runRestore('store-billing', readConfig, async (runtime, config, { progress, readJournal }) => {
  const dependencies = await createDependencies(runtime, config);
  await readJournal();
  const { total: queued = 0 } = await dependencies.store.refunds.page({
    mode: 'page',
    page: 1,
    perPage: 1,
    skip: 0,
  });
  const restored = await createUseCases(dependencies).restorePurchases(progress);
  const granted = restored.filter(({ state }) => state === 'granted').length;
  return [
    `The journal has ${pluralize(restored.length, 'store purchase')} that the backup does not have:`,
    ...restored.map(
      ({ channel, purchase_token: token, product_id: product, user_id: userId, confirmed_at: at, state }) =>
        `  ${product} of user ${userId}, ${channel} ${token}, ${formatTimestamp(at)}: ${MEANINGS[state]}`,
    ),
    `The refund queue of the backup has ${pluralize(queued, 'purchase')}. Look at the store which were refunded since, before one is granted or refunded.`,
    `Granted ${pluralize(granted, 'store purchase')} again, and listed ${restored.length - granted} others.`,
  ];
});
