/** Seeds many accounts with one session each, and many wallets with one income each: copies of rows that the product has written. */
import { randomBytes, randomUUID } from 'node:crypto';
import { toTextDocuments } from '@fitness/shared/lists/texts.ts';
import { LOGIN_FIELDS, loginKey } from '../services/identity/src/domain/login.ts';
import { searchGrams } from '../services/identity/src/domain/search-text.ts';
import type { StoredUser } from '../services/identity/src/store/user-document.ts';
import { type Database, openDatabase, openWallet, setBalance } from './product.ts';
import { batches, insertAll, raiseSequence } from './seed-rows.ts';

/** Ids above the product's own and below those of other benchmarks. */
const [FIRST_ID, END_ID] = [500_000_000, 600_000_000];
const INCOME = 1_000;
/** A wallet without an account. */
const BUYER = END_ID;

/** The ids that are missing until there are `count` rows, in batches. */
const missing = async (database: Database, collection: string, count: number): Promise<number[][]> => {
  const rows = database.collection<{ _id: number }>(collection);
  const present = await rows.countDocuments({ _id: { $gte: FIRST_ID, $lt: END_ID } });
  return batches(FIRST_ID + present, FIRST_ID + count);
};

const userOf = (model: StoredUser, id: number): StoredUser => {
  const names = { username: `copy${id}`, email: `copy${id}@example.com`, phone: `+98${id}` };
  return { ...model, _id: id, ...names, referral_code: `COPY${id}` };
};

const loginKeyOf = (user: StoredUser, field: (typeof LOGIN_FIELDS)[number]) => {
  const _id = loginKey(field, user[field]);
  return { _id, user_id: user._id, stamp: randomUUID() };
};

/** Writes copies of this account until there are `count`. */
export const seedUsers = async (count: number, accountId: number): Promise<void> => {
  const database = await openDatabase('identity');
  const model = await database.collection<StoredUser>('users').findOne({ _id: accountId });
  const token = await database.collection('tokens').findOne({ user_id: accountId, kind: 'session' });
  if (model === null || token === null) throw new Error('the account to copy has no session');
  for (const ids of await missing(database, 'users', count)) {
    const users = ids.map((id) => userOf(model, id));
    await insertAll(database, 'users', users);
    const texts = users.flatMap((user) => toTextDocuments(user._id, searchGrams(user)));
    await insertAll(database, 'users_texts', texts);
    const keys = users.flatMap((user) => LOGIN_FIELDS.map((field) => loginKeyOf(user, field)));
    await insertAll(database, 'login_keys', keys);
    const owners = ids.map((id) => ({ user_id: id, token_number: id }));
    const tokens = owners.map((owner) => ({ ...token, _id: randomBytes(32).toString('hex'), ...owner }));
    await insertAll(database, 'tokens', tokens);
  }
  await raiseSequence(database, 'users', FIRST_ID + count - 1);
  await database.close();
};

/**
 * Writes copies of an income of this account until there are `count` wallets. The ledger entries are sealed: otherwise the service would
 * seal them during a measurement.
 */
export const seedPayments = async (count: number, accountId: number): Promise<void> => {
  const database = await openDatabase('wallet');
  await setBalance(database, BUYER, INCOME);
  await openWallet().credit(accountId, BUYER, INCOME);
  const payment = await database.collection('payments').findOne({ user_id: accountId, type: 'income' });
  const entry = await database.collection('ledger_entries').findOne({ payment_ids: payment?._id });
  const wallet = await database.collection<{ _id: number }>('wallets').findOne({ _id: accountId });
  for (const ids of await missing(database, 'wallets', count)) {
    const entries = ids.map((id) => {
      const rows = entry?.rows.map((row: { account: string }) =>
        row.account === `wallet:${accountId}` ? { ...row, account: `wallet:${id}` } : row,
      );
      return { ...entry, _id: `booking:copy-${id}`, payment_ids: [id], rows, seal: 1 };
    });
    await insertAll(database, 'ledger_entries', entries);
    const payments = ids.map((id) => ({ ...payment, _id: id, user_id: id }));
    await insertAll(database, 'payments', payments);
    const wallets = ids.map((id) => ({ ...wallet, _id: id }));
    await insertAll(database, 'wallets', wallets);
  }
  await database.close();
};
