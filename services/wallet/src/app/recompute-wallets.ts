/** The balances of wallets, recomputed from their payments and from the rows of the ledger; for the audit. */
import type { ClientSession } from '@fitness/shared/mongo/connect.ts';
import type { Dependencies } from '../dependencies.ts';
import { walletOwner } from '../domain/ledger.ts';
import { balanceEffect, type Payment } from '../domain/payment.ts';

/** The number of payments whose entries are read together. */
const ROWS = 500;

interface Sums {
  byPayments: Map<number, bigint>;
  byRows: Map<number, bigint>;
  /** Number of payments. */
  payments: number;
}

const add = (sums: Map<number, bigint>, userId: number | undefined, amount: number): void => {
  const sum = userId === undefined ? undefined : sums.get(userId);
  if (userId !== undefined && sum !== undefined) sums.set(userId, sum + BigInt(amount));
};

/**
 * The sums of the payments and of the ledger rows of these users, read as a stream. The rows are found through the payments:
 * checkEntries has verified that every wallet row belongs to a payment of its user.
 */
export const recomputed = async (
  { store }: Pick<Dependencies, 'store'>,
  userIds: readonly number[],
  session: ClientSession,
): Promise<Sums> => {
  const sums: Sums = {
    byPayments: new Map(userIds.map((userId) => [userId, 0n])),
    byRows: new Map(userIds.map((userId) => [userId, 0n])),
    payments: 0,
  };
  if (userIds.length === 0) return sums;
  const addEntries = entryAdder({ store }, sums.byRows, session);
  let payments: Payment[] = [];
  for await (const payment of store.payments.ofUsers(userIds, session)) {
    add(sums.byPayments, payment.userId, balanceEffect(payment));
    payments.push(payment);
    sums.payments += 1;
    if (payments.length < ROWS) continue;
    await addEntries(payments);
    payments = [];
  }
  await addEntries(payments);
  return sums;
};

/**
 * Adds the rows of the payments' entries. The payments arrive ordered by user and id. Each entry is added once per user: its
 * payments have consecutive ids, so only the previous batch can contain the same entry.
 */
const entryAdder = (
  { store }: Pick<Dependencies, 'store'>,
  byRows: Map<number, bigint>,
  session: ClientSession,
): ((payments: readonly Payment[]) => Promise<void>) => {
  let previous = new Set<string>();
  return async (payments) => {
    const owners = new Map(payments.map(({ id, userId }) => [id, userId]));
    const seen = new Set<string>();
    for (const { key, paymentIds, rows } of await store.entries.ofPayments([...owners.keys()], session))
      for (const userId of new Set(paymentIds.flatMap((id) => owners.get(id) ?? []))) {
        const name = `${userId} ${key}`;
        seen.add(name);
        if (previous.has(name)) continue;
        for (const { account, amount } of rows)
          if (walletOwner(account) === userId) add(byRows, userId, amount);
      }
    previous = seen;
  };
};
