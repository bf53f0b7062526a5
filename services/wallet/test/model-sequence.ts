/** Sequential operations: every response equals the response of an in-memory model. */
import { randomUUID } from 'node:crypto';
import type { UserCaller } from '@fitness/shared/kernel/caller.ts';
import { expect } from '@jest/globals';
import fc from 'fast-check';
import { type Harness, OPERATOR, startHarness } from './support.ts';

const SEED = Number(process.env.WALLET_MODEL_SEED ?? 20_260_115);

interface Model {
  balances: number[];
  withdrawals: { user: number; amount: number; state: 'open' | 'paid' | 'rejected' }[];
}

interface Real {
  harness: Harness;
  people: UserCaller[];
  /** In the same order as in the model. */
  withdrawalIds: number[];
}

type Step = fc.AsyncCommand<Model, Real>;

const step = (name: string, run: (model: Model, real: Real) => Promise<void>): Step => ({
  check: () => true,
  run,
  toString: () => name,
});

/** Books, and expects success when every balance of the model stays at zero or above. */
const book = (
  bookings: { user: number; type: 'income' | 'purchase' | 'commission'; amount: number }[],
): Step =>
  step(`book ${JSON.stringify(bookings)}`, async (model, { harness, people }) => {
    const after = [...model.balances];
    for (const { user, type, amount } of bookings)
      after[user] = (after[user] ?? 0) + (type === 'income' ? amount : -amount);
    const answer = await harness
      .book({
        idempotency_key: randomUUID(),
        bookings: bookings.map(({ user, ...rest }) => ({ user_id: people[user]?.userId ?? 0, ...rest })),
      })
      .then(
        () => 'booked',
        (error: { code: string }) => error.code,
      );
    const allowed = after.every((balance) => balance >= 0);
    expect(answer).toBe(allowed ? 'booked' : 'payments.insufficient_balance');
    if (allowed) model.balances = after;
  });

const give = (user: number, amount: number): Step =>
  step(`give ${user} ${amount}`, async (model, { harness, people }) => {
    await harness.give(people[user]?.userId ?? 0, amount);
    model.balances[user] = (model.balances[user] ?? 0) + amount;
  });

const withdraw = (user: number, amount: number): Step =>
  step(`withdraw ${user} ${amount}`, async (model, { harness, people, withdrawalIds }) => {
    const answer = await harness.send('POST', '/payments/withdrawals', {
      ...(people[user] === undefined ? {} : { as: people[user] }),
      body: { amount },
    });
    const balance = model.balances[user] ?? 0;
    expect(answer.status).toBe(amount <= balance ? 201 : 422);
    if (amount > balance) return;
    model.balances[user] = balance - amount;
    model.withdrawals.push({ user, amount, state: 'open' });
    withdrawalIds.push(answer.body.payment.id);
  });

const settle = (pick: number, verb: 'pay' | 'reject'): Step =>
  step(`${verb} ${pick}`, async (model, { harness, withdrawalIds }) => {
    const index = pick % Math.max(1, model.withdrawals.length);
    const withdrawal = model.withdrawals[index];
    if (withdrawal === undefined) return;
    const path = `/payments/${withdrawalIds[index]}/${verb}`;
    const answer = await harness.send('POST', path, { as: OPERATOR, headers: { 'idempotency-key': verb } });
    const outcome = verb === 'pay' ? 'paid' : 'rejected';
    expect(answer.status).toBe(['open', outcome].includes(withdrawal.state) ? 200 : 409);
    if (withdrawal.state !== 'open') return;
    withdrawal.state = outcome;
    if (verb === 'reject')
      model.balances[withdrawal.user] = (model.balances[withdrawal.user] ?? 0) + withdrawal.amount;
    expect(answer.body.payment.user_balance).toBe(model.balances[withdrawal.user]);
  });

const showBalance = (user: number): Step =>
  step(`balance ${user}`, async (model, { harness, people }) => {
    const as = people[user];
    const { body } = await harness.send('GET', '/payments/balance', as === undefined ? {} : { as });
    expect(body).toEqual({ balance: model.balances[user] });
  });

const user = fc.nat(2);
/** Small amounts, so balances often equal an amount or miss it by one. */
const amount = fc.integer({ min: 1, max: 4 });
const steps = [
  fc.tuple(user, amount).map(([one, value]) => give(one, value)),
  fc.tuple(user, amount).map(([one, value]) => book([{ user: one, type: 'purchase', amount: value }])),
  fc.tuple(user, user, amount).map(([one, other, value]) =>
    book([
      { user: one, type: 'purchase', amount: value },
      { user: other, type: 'income', amount: value },
      { user: other, type: 'commission', amount: 1 },
    ]),
  ),
  fc.tuple(user, amount).map(([one, value]) => withdraw(one, value)),
  fc
    .tuple(fc.nat(100), fc.constantFrom('pay' as const, 'reject' as const))
    .map(([at, verb]) => settle(at, verb)),
  user.map(showBalance),
];

/** Any sequence of bookings, withdrawals and settlements has the same responses as the model. */
export const playSequences = async (sequences: number, maxCommands: number): Promise<void> => {
  const harness = await startHarness();
  try {
    const property = fc.asyncProperty(fc.commands(steps, { maxCommands, size: 'max' }), async (commands) => {
      const people = [harness.person(), harness.person(), harness.person()];
      const setup = (): { model: Model; real: Real } => ({
        model: { balances: [0, 0, 0], withdrawals: [] },
        real: { harness, people, withdrawalIds: [] },
      });
      await fc.asyncModelRun(setup, commands);
    });
    await fc.assert(property, { numRuns: sequences, seed: SEED, endOnFailure: true });
    expect((await harness.audit()).difference).toBeUndefined();
  } finally {
    await harness.close();
  }
};
