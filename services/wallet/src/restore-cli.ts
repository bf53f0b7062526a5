/**
 * `npm run restore:wallet`: after a restore of its database from a backup and after `npm run restore:identity`, lists the money that may
 * have been moved since: what operators compare with the bank before they pay anything. Changes nothing. Exit codes as those of
 * `npm run rebuild:content`.
 */
import { formatTimestamp } from '@fitness/shared/kernel/clock.ts';
import { counted } from '@fitness/shared/kernel/counted.ts';
import { runRebuild } from '@fitness/shared/runtime/rebuild.ts';
import { readConfig } from './config.ts';
import { createDependencies } from './dependencies.ts';
import { createUseCases } from './use-cases.ts';

await runRebuild('wallet', readConfig, async (runtime, config) => {
  const { listRestoredMoney } = createUseCases(await createDependencies(runtime, config));
  const { openWithdrawals, erasedWithBalance, newest } = await listRestoredMoney();
  const since = newest === null ? 'the backup' : `${formatTimestamp(newest)} UTC`;
  return [
    `Do not pay ${counted(openWithdrawals.length, 'withdrawal')} before the statement of the bank shows that it was not paid since ${since}:`,
    ...openWithdrawals.map(
      ({ id, userId, amount, createdAt }) =>
        `  withdrawal ${id} of user ${userId}: ${amount} Tooman, requested ${formatTimestamp(createdAt)}`,
    ),
    `${counted(erasedWithBalance.length, 'erased account has', 'erased accounts have')} a balance, which was spent or withdrawn since the backup:`,
    ...erasedWithBalance.map(({ userId, balance }) => `  user ${userId}: ${balance} Tooman`),
    `Deposits that were open are verified with the bank gateway as always. Those of after ${since} are only in its panel: compare its track ids with those of the payments here.`,
  ].join('\n');
});
