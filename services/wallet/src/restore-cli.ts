/**
 * `npm run restore:wallet`: after a restore of its database from a backup and after `npm run restore:identity`, while the services run and
 * the gateway does not. Opens the deposits of the journal again that the backup does not have, and books those that the bank gateway says
 * are paid, as well as those that are open in it. Lists the money that operators may have moved since. Repeatable. Exit codes as those of `npm run rebuild:content`.
 */
import { formatTimestamp } from '@fitness/shared/kernel/clock.ts';
import { counted } from '@fitness/shared/kernel/counted.ts';
import { runRebuild } from '@fitness/shared/runtime/rebuild.ts';
import type { RestoredMoney } from './app/list-restored-money.ts';
import type { RestoredDeposit, RestoredDepositState } from './app/restore-deposits.ts';
import { readConfig } from './config.ts';
import { createDependencies } from './dependencies.ts';
import { createUseCases } from './use-cases.ts';

const MEANINGS: Readonly<Record<RestoredDepositState, string>> = {
  done: 'booked',
  open: 'not paid yet, or no answer of the bank gateway: verified again as every open deposit',
  cancelled: 'cancelled',
  failed: 'failed',
  expired: 'not paid',
  mismatch: 'disputed: look whether it was returned since, then resolve it',
  returned: 'returned',
  no_account:
    'nothing is stored, because the account is erased or younger than the backup: compare the panel of the bank gateway, and return what was paid',
};

const ofDeposits = (restored: readonly RestoredDeposit[]): string[] => [
  `The journal has ${counted(restored.length, 'deposit')} that the backup has as open, or does not have:`,
  ...restored.map(
    ({ track_id: trackId, user_id: userId, meta, opened_at: openedAt, state }) =>
      `  track id ${trackId} of user ${userId}: ${meta.amount} Tooman, opened ${formatTimestamp(openedAt)}: ${MEANINGS[state]}`,
  ),
];

const ofOperators = ({
  openWithdrawals,
  lostPayouts,
  erasedWithBalance,
  openDisputes,
}: RestoredMoney): string[] => [
  `Do not pay ${counted(openWithdrawals.length, 'withdrawal')} before the statement of the bank shows that it was not paid since the backup:`,
  ...openWithdrawals.map(({ id, userId, amount, createdAt, paidAt }) => {
    const paid = paidAt === null ? '' : `, recorded as paid ${formatTimestamp(paidAt)}`;
    return `  withdrawal ${id} of user ${userId}: ${amount} Tooman, requested ${formatTimestamp(createdAt)}${paid}`;
  }),
  `${counted(lostPayouts.length, 'withdrawal was', 'withdrawals were')} paid that the backup does not have, so that the balance is too high by it:`,
  ...lostPayouts.map(
    ({ payment_id: id, user_id: userId, amount, paid_at: paidAt }) =>
      `  withdrawal ${id} of user ${userId}: ${amount} Tooman, recorded as paid ${formatTimestamp(paidAt)}`,
  ),
  `${counted(erasedWithBalance.length, 'erased account has', 'erased accounts have')} a balance, which was spent or withdrawn since the backup:`,
  ...erasedWithBalance.map(({ userId, balance }) => `  user ${userId}: ${balance} Tooman`),
  `The backup has ${counted(openDisputes, 'disputed deposit')}. Look whether one was returned since, before it is resolved.`,
];

await runRebuild('wallet', readConfig, async (runtime, config, progress) => {
  const { listRestoredMoney, restoreDeposits } = createUseCases(await createDependencies(runtime, config));
  // First: a restored deposit may become a dispute.
  const money = await listRestoredMoney();
  const restored = await restoreDeposits(progress);
  return [...ofDeposits(restored), ...ofOperators(money)].join('\n');
});
