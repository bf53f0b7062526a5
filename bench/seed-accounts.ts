/** Seeds many accounts with one session each, and many wallets with one income each, as the services store them. */
import { randomBytes, randomUUID } from 'node:crypto';
import { systemClock } from '@fitness/shared/kernel/clock.ts';
import { type Leaf, nextSeal } from '@fitness/shared/kernel/seal.ts';
import { toTextDocuments } from '@fitness/shared/lists/texts.ts';
import { LOGIN_FIELDS, loginKey } from '../services/identity/src/domain/login.ts';
import { searchGrams } from '../services/identity/src/domain/search-text.ts';
import type { StoredUser } from '../services/identity/src/store/user-document.ts';
import { bookingRows } from '../services/wallet/src/domain/booking.ts';
import { createEntry } from '../services/wallet/src/domain/ledger.ts';
import { newPayment } from '../services/wallet/src/domain/payment.ts';
import { createEntries } from '../services/wallet/src/store/entries.ts';
import { type EntryDocument, registerModels } from '../services/wallet/src/store/models.ts';
import { toDocument as toPaymentDocument } from '../services/wallet/src/store/payment-document.ts';
import { createSeals } from '../services/wallet/src/store/seals.ts';
import { batches, type Database, insertAll, insertTexts, openDatabase, raiseSequence } from './seed-rows.ts';

/** Ids above the product's own and below those of other benchmarks. */
const [FIRST_ID, END_ID] = [500_000_000, 600_000_000];
const INCOME = 1_000;

/** The number of rows from earlier runs. */
const present = (database: Database, collection: string): Promise<number> =>
  database.collection<{ _id: number }>(collection).countDocuments({ _id: { $gte: FIRST_ID, $lt: END_ID } });

const userOf = (model: StoredUser, id: number): StoredUser => {
  const names = { username: `copy${id}`, email: `copy${id}@example.com`, phone: `+98${id}` };
  return { ...model, _id: id, ...names, referral_code: `COPY${id}` };
};

const toTexts = (user: StoredUser) => toTextDocuments(user._id, searchGrams(user));

/** Writes copies of this account until there are `count`. */
export const seedUsers = async (count: number, accountId: number): Promise<void> => {
  const database = await openDatabase('identity');
  const model = await database.collection<StoredUser>('users').findOne({ _id: accountId });
  const token = await database.collection('tokens').findOne({ user_id: accountId, kind: 'session' });
  if (model === null || token === null) throw new Error('the account to copy has no session');
  const first = FIRST_ID + (await present(database, 'users'));
  for (const ids of batches(first, FIRST_ID + count)) {
    const users = ids.map((id) => userOf(model, id));
    await insertAll(database, 'users', users);
    await insertTexts(database, 'users_texts', users, toTexts);
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
  }
  await raiseSequence(database, 'users', FIRST_ID + count - 1);
  await database.close();
};

/** The first income of a new wallet, as `Book` writes it. */
const incomeOf = (userId: number, createdAt: Date) => {
  const paymentIds = [userId];
  const booking = { userId, type: 'income' as const, amount: INCOME };
  const rows = bookingRows([{ ...booking, description: null, payableType: null, payableId: null }], 0);
  const entry = createEntry({ key: `booking:copy-${userId}`, kind: 'booking', rows, paymentIds });
  return { entry, payment: newPayment({ ...booking, id: userId, isDone: true, createdAt }) };
};

/** Writes up to `count` wallets and payments, already sealed. Otherwise the service would seal them during a measurement. */
export const seedPayments = async (count: number): Promise<void> => {
  const [database, ofSeals] = [await openDatabase('wallet'), await openDatabase('wallet', '_seals')];
  const entries = createEntries(registerModels(database));
  const seals = createSeals(ofSeals);
  const seal = async (leaves: readonly Leaf[]): Promise<number> => {
    for (;;) {
      const next = nextSeal(await seals.newest(0), leaves, systemClock.now());
      // The service may seal its own entries at the same time.
      if (await seals.append(next)) return next.number;
    }
  };
  const first = FIRST_ID + (await present(database, 'wallets'));
  for (const ids of batches(first, FIRST_ID + count)) {
    const now = systemClock.now();
    const incomes = ids.map((id) => incomeOf(id, now));
    const booked = incomes.flatMap(({ entry }) => entries.insertOf(entry, now).documents as EntryDocument[]);
    const number = await seal(booked.map(({ _id, hash }) => ({ key: _id, hash })));
    const sealed = booked.map((row) => ({ ...row, seal: number }));
    await insertAll(database, 'ledger_entries', sealed);
    const payments = incomes.map(({ payment }) => toPaymentDocument(payment));
    await insertAll(database, 'payments', payments);
    const wallets = ids.map((id) => ({ _id: id, balance: INCOME, version: 1, erased_at: null }));
    await insertAll(database, 'wallets', wallets);
  }
  await database.close();
  await ofSeals.close();
};
