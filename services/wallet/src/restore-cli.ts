/**
 * `npm run restore:wallet -- --backup <id> --lost-at <time>` runs after the database was restored from a backup, and after
 * `npm run restore:identity`. The services must be running, and the API gateway must not.
 *
 * It reopens the journal's deposits that the backup does not contain. It verifies them, and those that the backup has as open,
 * with the bank gateway and books what was paid. It lists the money that operators may have moved since. It refuses a journal that
 * is not complete; `--without-journal` overrides. Repeatable. Exit codes are those of `npm run rebuild:content`, and 64 for wrong
 * usage.
 */
import { formatTimestamp } from '@fitness/shared/kernel/clock.ts';
import { pluralize } from '@fitness/shared/kernel/pluralize.ts';
import { runRestore } from '@fitness/shared/runtime/restore.ts';
import type { RestoredMoney } from './app/list-restored-money.ts';
import type { RestoredDeposit, RestoredDepositState } from './app/restore-deposits.ts';
import { readConfig } from './config.ts';
import { createDependencies } from './dependencies.ts';
import { createUseCases } from './use-cases.ts';

const MEANINGS: Readonly<Record<RestoredDepositState, string>> = {
  done: 'booked',
  open: 'not paid yet, or no response from the bank gateway: verified again like every open deposit',
  cancelled: 'cancelled',
  failed: 'failed',
  expired: 'not paid',
  mismatch:
    'disputed: check whether it was returned since, or spent by an account that is erased again, then resolve it',
  returned: 'returned',
  no_account:
    'nothing is stored, because the account is erased or younger than the backup: check the panel of the bank gateway, and return what was paid and not spent before an erasure',
};

const ofDeposits = (restored: readonly RestoredDeposit[]): string[] => [
  `The journal has ${pluralize(restored.length, 'deposit')} that the backup has as open or does not have:`,
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
  `${pluralize(openWithdrawals.length, 'open withdrawal')}: before you pay one, check in the bank statement that it was not paid since the backup.`,
  ...openWithdrawals.map(({ id, userId, amount, createdAt, paidAt }) => {
    const paid = paidAt === null ? '' : `, recorded as paid ${formatTimestamp(paidAt)}`;
    return `  withdrawal ${id} of user ${userId}: ${amount} Tooman, requested ${formatTimestamp(createdAt)}${paid}`;
  }),
  `${pluralize(lostPayouts.length, 'paid withdrawal is', 'paid withdrawals are')} missing from the backup, so the user’s balance is too high by the amount:`,
  ...lostPayouts.map(
    ({ payment_id: id, user_id: userId, amount, paid_at: paidAt }) =>
      `  withdrawal ${id} of user ${userId}: ${amount} Tooman, recorded as paid ${formatTimestamp(paidAt)}`,
  ),
  `${pluralize(erasedWithBalance.length, 'erased account has', 'erased accounts have')} a balance that was spent or withdrawn since the backup:`,
  ...erasedWithBalance.map(({ userId, balance }) => `  user ${userId}: ${balance} Tooman`),
  `The backup has ${pluralize(openDisputes, 'disputed deposit')}. Before you resolve one, check whether it was returned since.`,
];

const summaryOf = (
  restored: readonly RestoredDeposit[],
  { openWithdrawals, lostPayouts, erasedWithBalance, openDisputes }: RestoredMoney,
): string => {
  const booked = restored.filter(({ state }) => state === 'done').length;
  const unbooked = `listed ${restored.length - booked} others`;
  const lists = [openWithdrawals, lostPayouts, erasedWithBalance];
  const decisions = lists.reduce((sum, { length }) => sum + length, openDisputes);
  return `Booked ${pluralize(booked, 'deposit')} and ${unbooked}. ${pluralize(decisions, 'decision')} of operators must be compared with the bank.`;
};

await runRestore('wallet', readConfig, async (runtime, config, { progress, readJournal }) => {
  const { listRestoredMoney, restoreDeposits } = createUseCases(await createDependencies(runtime, config));
  const backedUpAt = (await readJournal())?.markedAt;
  // First: a restored deposit may become a dispute.
  const money = await listRestoredMoney();
  const restored = await restoreDeposits(progress, backedUpAt);
  return [...ofDeposits(restored), ...ofOperators(money), summaryOf(restored, money)];
});
