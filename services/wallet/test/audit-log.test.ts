/** Settlements and resolutions are recorded in the audit log together with their effect, or not at all. */
import { createAuditObserver } from '@fitness/shared/testing/audit.ts';
import { monitored } from '@fitness/shared/testing/commands.ts';
import { testConfig } from '@fitness/shared/testing/harness.ts';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { eraseAccount, type Harness, OPERATOR, SECOND_OPERATOR, startHarness, together } from './support.ts';

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

const settle = (id: number, verb: 'pay' | 'reject', body: unknown = {}, as = OPERATOR) =>
  harness.send('POST', `/payments/${id}/${verb}`, {
    as,
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

const resolve = (id: number, outcome: 'credited' | 'returned', note = 'By phone') =>
  harness.send('POST', `/payments/${id}/resolve`, { as: OPERATOR, body: { outcome, note } });

const claim = (id: number, as: typeof OPERATOR, body: object = {}) =>
  harness.send('POST', `/payments/${id}/claim`, { as, body });

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
  const again = await observer.observe(() => settle(id, verb, body));
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

test('a refused payment is recorded with its reference, which the erasure of the payer removes', async () => {
  const { id, userId } = await withdrawal();
  await settle(id, 'pay', { reference: '1111' });
  const { result, entries } = await observer.observe(() =>
    settle(id, 'pay', { reference: 'TRX-SARA' }, SECOND_OPERATOR),
  );
  expect(result.status).toBe(409);
  expect(entries).toMatchObject([
    {
      actorId: SECOND_OPERATOR.userId,
      action: 'withdrawal.pay_refused',
      subjectId: id,
      after: {
        user_id: userId,
        'meta.reference': '1111',
        'refused.code': 'payments.already_settled',
        'refused.reference': 'TRX-SARA',
        'refused.mark': expect.any(String),
      },
    },
  ]);
  await eraseAccount(harness, userId);
  const again = await observer.observe(async () => {
    for (const reference of ['TRX-SARA', 'TRX-ALI']) await settle(id, 'pay', { reference }, SECOND_OPERATOR);
  });
  const marks = again.entries.map(({ after }) => after?.['refused.mark']);
  // The same text of the same operator has the same mark, so that a reference of the bank can still be compared.
  expect([marks[0], marks[1] === marks[0]]).toEqual([entries[0]?.after?.['refused.mark'], false]);
  const stored = await harness.connection.collection('audit_entries').find({ subject_id: id }).toArray();
  expect(stored).toHaveLength(4);
  expect(JSON.stringify(stored)).not.toContain('SARA');
});

test('a refused payment of a claimed withdrawal is recorded; without a reference, and for a rejection, it is not', async () => {
  const { id } = await withdrawal();
  await claim(id, OPERATOR);
  const { entries } = await observer.observe(() => settle(id, 'pay', { reference: '2222' }, SECOND_OPERATOR));
  const refused = { 'refused.code': 'payments.claimed', 'refused.reference': '2222' };
  expect(entries).toMatchObject([{ after: { 'claim.by': OPERATOR.userId, ...refused } }]);
  const silent = await observer.observe(async () => [
    (await settle(id, 'pay', {}, SECOND_OPERATOR)).status,
    (await settle(id, 'reject', { reason: 'x' }, SECOND_OPERATOR)).status,
  ]);
  expect([silent.result, silent.entries]).toEqual([[409, 409], []]);
});

test('a refused resolution is recorded with its note', async () => {
  const { id } = await disputed();
  await resolve(id, 'credited');
  const { result, entries } = await observer.observe(() => resolve(id, 'returned', 'By bank'));
  expect(result.status).toBe(409);
  expect(entries).toMatchObject([
    {
      action: 'deposit.resolve_refused',
      subjectId: id,
      after: { 'refused.note': 'By bank', 'refused.mark': expect.any(String) },
    },
  ]);
});

test('claims, take-overs and releases are recorded with whose claim it was', async () => {
  const { id } = await withdrawal();
  const { entries } = await observer.observe(async () => {
    await claim(id, OPERATOR);
    await claim(id, SECOND_OPERATOR, { take_over: true });
    await harness.send('DELETE', `/payments/${id}/claim`, { as: SECOND_OPERATOR });
    await claim(id, OPERATOR);
    await settle(id, 'pay', { reference: '1', take_over: true }, SECOND_OPERATOR);
  });
  const [first, second] = [OPERATOR.userId, SECOND_OPERATOR.userId];
  expect(
    entries.map(({ action, actorId, before, after }) => [
      action,
      actorId,
      before?.['claim.by'],
      typeof before?.['claim.until'],
      after?.['claim.by'],
    ]),
  ).toEqual([
    ['withdrawal.claim', first, null, 'object', first],
    ['withdrawal.claim', second, first, 'string', second],
    ['withdrawal.release', second, second, 'string', null],
    ['withdrawal.claim', first, null, 'object', first],
    ['withdrawal.pay', second, first, 'string', null],
  ]);
});

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
