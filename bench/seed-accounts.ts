/**
 * Many accounts with a session, and as many wallets with an income each: copies of what the product has written, with what
 * it derives from their values.
 */
import { randomBytes, randomUUID } from 'node:crypto';
import { nextSeal } from '@fitness/shared/kernel/seal.ts';
import { LOGIN_FIELDS, loginKey } from '../services/identity/src/domain/login.ts';
import { deriveFields, type StoredUser } from '../services/identity/src/store/user-document.ts';
import { type Account, walletAccount } from '../services/wallet/src/domain/ledger.ts';
import { type BookedEntry, entryHash } from '../services/wallet/src/domain/seal.ts';
import type { EntryDocument, PaymentDocument } from '../services/wallet/src/store/models.ts';
import { createSeals } from '../services/wallet/src/store/seals.ts';
import { batches, type Database, databaseOf, insertAll, type OnWritten, openDatabase } from './seed-rows.ts';

/** Above those that the product gives. */
const FIRST_ID = 500_000_000;
const INCOME = 1_000;

/** How many were written before. */
const present = (database: Database, collection: string): Promise<number> =>
  database.collection<{ _id: number }>(collection).countDocuments({ _id: { $gte: FIRST_ID } });

/** One that the product has written. */
const modelOf = async <Row>(database: Database, collection: string, filter: object): Promise<Row> => {
  const found = await database.collection(collection).findOne(filter);
  if (found === null) throw new Error(`there is no example in ${collection}`);
  return found as Row;
};

const userOf = (model: StoredUser, id: number): StoredUser => {
  const names = { username: `copy${id}`, email: `copy${id}@example.com`, phone: `+98${id}` };
  const user = { ...model, _id: id, ...names, referral_code: `COPY${id}` };
  return { ...user, ...deriveFields(user) };
};

/** Up to `count`. */
export const seedUsers = async (count: number, onWritten: OnWritten): Promise<void> => {
  const database = await openDatabase(databaseOf('identity'));
  const token = await modelOf<{ user_id: number }>(database, 'tokens', { kind: 'session' });
  const model = await modelOf<StoredUser>(database, 'users', { _id: token.user_id });
  const first = FIRST_ID + (await present(database, 'users'));
  for (const ids of batches(first, FIRST_ID + count)) {
    const users = ids.map((id) => userOf(model, id));
    await insertAll(database, 'users', users);
    const keys = users.flatMap((user) =>
      LOGIN_FIELDS.map((field) => ({
        _id: loginKey(field, user[field]),
        user_id: user._id,
        stamp: randomUUID(),
      })),
    );
    await insertAll(database, 'login_keys', keys);
    const tokens = ids.map((id) => ({
      ...token,
      _id: randomBytes(32).toString('hex'),
      user_id: id,
      token_number: id,
    }));
    await insertAll(database, 'tokens', tokens);
    onWritten(ids.length);
  }
  await database.close();
};

/** The income of a new wallet, as `Book` writes it. */
const entryOf = (model: EntryDocument, id: number): EntryDocument => {
  const entry = {
    key: `booking:copy-${id}`,
    kind: model.kind,
    inputHash: model.input_hash,
    rows: [
      { account: walletAccount(id), amount: INCOME },
      { account: 'revenue' as Account, amount: -INCOME },
    ],
    paymentIds: [id],
  };
  const { key: _id, rows, paymentIds: payment_ids } = entry;
  return { ...model, _id, rows, payment_ids, hash: entryHash(entry, model.booked_at), seal: null };
};

/** Up to `count` of each. The ledger is sealed as the service does it, which seals its own entries meanwhile. */
export const seedPayments = async (count: number, onWritten: OnWritten): Promise<void> => {
  const name = databaseOf('wallet');
  const [database, ofSeals] = [await openDatabase(name), await openDatabase(`${name}_seals`)];
  const seals = createSeals(ofSeals);
  const seal = async (rows: readonly EntryDocument[]): Promise<number> => {
    const leaves: Pick<BookedEntry, 'key' | 'hash'>[] = rows.map(({ _id, hash }) => ({ key: _id, hash }));
    for (;;) {
      const next = nextSeal(await seals.newest(0), leaves, new Date());
      if (await seals.append(next)) return next.number;
    }
  };
  const payment = await modelOf<PaymentDocument>(database, 'payments', { type: 'income', is_done: true });
  const entry = await modelOf<EntryDocument>(database, 'ledger_entries', { payment_ids: payment._id });
  const first = FIRST_ID + (await present(database, 'wallets'));
  for (const ids of batches(first, FIRST_ID + count)) {
    const entries = ids.map((id) => entryOf(entry, id));
    const number = await seal(entries);
    await insertAll(
      database,
      'ledger_entries',
      entries.map((row) => ({ ...row, seal: number })),
    );
    await insertAll(
      database,
      'payments',
      ids.map((id) => ({ ...payment, _id: id, user_id: id, amount: INCOME })),
    );
    await insertAll(
      database,
      'wallets',
      ids.map((id) => ({ _id: id, balance: INCOME, version: 1, erased_at: null })),
    );
    onWritten(ids.length);
  }
  await database.close();
  await ofSeals.close();
};
