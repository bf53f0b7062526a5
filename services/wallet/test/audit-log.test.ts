/** Settlements and resolutions are recorded in the audit log together with their effect, or not at all. */
import { createAuditObserver } from '@fitness/shared/testing/audit.ts';
import { monitored } from '@fitness/shared/testing/commands.ts';
import { testConfig } from '@fitness/shared/testing/harness.ts';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { eraseAccount, type Harness, OPERATOR, startHarness, together } from './support.ts';

let harness: Harness;
let observer: ReturnType<typeof createAuditObserver>;

beforeAll(async () => {
  const { MONGODB_URI } = monitored(testConfig('wallet'));
  harness = await startHarness({ MONGODB_URI });
  observer = createAuditObserver(harness.connection, 'wallet');
});
afterAll(() => harness.close());

const withdrawal = async (): Promise<{ id: number; userId: number }> => {
  const as = harness.person();
  await harness.give(as.userId, 5_000);
  const answer = await harness.send('POST', '/payments/withdrawals', { as, body: { amount: 4_000 } });
  return { id: answer.body.payment.id, userId: as.userId };
};

const settle = (id: number, verb: 'pay' | 'reject', body: unknown = {}) =>
  harness.send('POST', `/payments/${id}/${verb}`, {
    as: OPERATOR,
    body,
    headers: { 'x-request-id': `${verb}-${id}` },
  });

/** A deposit for which the gateway took a different amount. */
const disputed = async (): Promise<{ id: number; userId: number }> => {
  const as = harness.person();
  const answer = await harness.send('POST', '/payments/deposit', { as, body: { amount: 10_000 } });
  const { id } = answer.body.payment;
  const reported = { amount_rial: 5, order_id: '1', ref_number: null, card_number: null, paid_at: null };
  const fields = { 'gateway.state': 'mismatch', 'gateway.check_at': null, 'gateway.reported': reported };
  await harness.connection.collection('payments').updateOne({ _id: id as never }, { $set: fields });
  return { id, userId: as.userId };
};

const resolve = (id: number, outcome: 'credited' | 'returned') =>
  harness.send('POST', `/payments/${id}/resolve`, { as: OPERATOR, body: { outcome, note: 'By phone' } });

test.each([
  [
    'pay',
    'withdrawal.pay',
    { reference: 'TRX-1' },
    { is_done: true, rejected_at: null, 'meta.reason': null, 'meta.reference': 'TRX-1' },
  ],
  [
    'reject',
    'withdrawal.reject',
    { reason: 'Wrong account' },
    {
      is_done: false,
      rejected_at: expect.any(String),
      'meta.reason': 'Wrong account',
      'meta.reference': null,
    },
  ],
] as const)('the %s of a withdrawal is recorded once in the audit log', async (verb, action, body, after) => {
  const { id, userId } = await withdrawal();
  const { result, entries, written } = await observer.observe(() => settle(id, verb, body));
  expect(result.status).toBe(200);
  expect(entries).toMatchObject([
    {
      service: 'wallet',
      actorId: OPERATOR.userId,
      action,
      subjectType: 'payment',
      subjectId: id,
      requestId: `${verb}-${id}`,
      before: { user_id: userId, amount: 4_000, is_done: false, rejected_at: null, 'meta.reason': null },
      after: { user_id: userId, amount: 4_000, ...after },
    },
  ]);
  expect(written).toEqual(expect.arrayContaining(['ledger_entries', 'payments']));
  const again = await observer.observe(() => settle(id, verb));
  expect([again.result.status, again.entries]).toEqual([200, []]);
  const other = await observer.observe(() => settle(id, verb === 'pay' ? 'reject' : 'pay'));
  expect([other.result.status, other.entries]).toEqual([409, []]);
});

test.each([
  ['credited', { is_done: true, 'gateway.state': 'done' }],
  ['returned', { is_done: false, 'gateway.state': 'returned' }],
] as const)(
  'resolving a disputed deposit as %s is recorded once in the audit log',
  async (outcome, after) => {
    const { id } = await disputed();
    const { result, entries, written } = await observer.observe(() => resolve(id, outcome));
    expect(result.status).toBe(200);
    expect(entries).toMatchObject([
      {
        actorId: OPERATOR.userId,
        action: 'deposit.resolve',
        subjectId: id,
        before: { 'gateway.state': 'mismatch', 'gateway.resolution.outcome': null },
        after: { ...after, 'gateway.resolution.outcome': outcome, 'gateway.resolution.note': 'By phone' },
      },
    ]);
    expect(written).toContain('payments');
    expect((await observer.observe(() => resolve(id, outcome))).entries).toEqual([]);
  },
);

test('one of twenty concurrent operators settles a withdrawal, and the log has one entry', async () => {
  const { id } = await withdrawal();
  const { entries } = await observer.observe(() =>
    together(20, (index) => settle(id, index % 2 === 0 ? 'pay' : 'reject')),
  );
  expect(entries).toHaveLength(1);
  const stored = await harness.connection.collection('payments').findOne({ _id: id as never });
  expect(entries[0]?.action).toBe(stored?.is_done === true ? 'withdrawal.pay' : 'withdrawal.reject');
});

test('an erasure removes the reason of a rejection from the log, and the amount stays', async () => {
  const { id, userId } = await withdrawal();
  await settle(id, 'reject', { reason: 'The name differs' });
  await eraseAccount(harness, userId);
  const entry = (await observer.all()).find(({ subjectId }) => subjectId === id);
  expect(entry?.after).toMatchObject({ amount: 4_000, 'meta.reason': { erased: true } });
});
