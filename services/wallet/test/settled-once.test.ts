/** Operators who settle one withdrawal at the same time, or one after the other. */
import type { UserCaller } from '@fitness/shared/kernel/caller.ts';
import { MINUTE_MS } from '@fitness/shared/kernel/clock.ts';
import { apiClient, type Send } from '@fitness/shared/testing/harness.ts';
import { ManualClock } from '@fitness/shared/testing/manual-clock.ts';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { eraseAccount, type Harness, OPERATOR, SECOND_OPERATOR, startHarness } from './support.ts';

let harness: Harness;
const clock = new ManualClock(new Date());
/** A second process, on the manual clock. */
let second: Send;
beforeAll(async () => {
  harness = await startHarness();
  second = apiClient('wallet', (await harness.replica({}, clock)).url);
});
afterAll(() => harness.close());

const withdrawal = async (as = harness.person()): Promise<{ id: number; userId: number }> => {
  await harness.give(as.userId, 1_000);
  const { body } = await harness.send('POST', '/payments/withdrawals', { as, body: { amount: 1_000 } });
  return { id: body.payment.id, userId: as.userId };
};

interface Options {
  as?: UserCaller;
  key?: string;
  send?: Send;
}
const settle = (
  verb: 'pay' | 'reject',
  id: number,
  body: object = {},
  { as = OPERATOR, key, send = harness.send }: Options = {},
) =>
  send('POST', `/payments/${id}/${verb}`, {
    as,
    body,
    headers: key === undefined ? {} : { 'idempotency-key': key },
  });
const claim = (id: number, as = OPERATOR, body: object = {}, send = second) =>
  send('POST', `/payments/${id}/claim`, { as, body });
const release = (id: number, as = OPERATOR) => second('DELETE', `/payments/${id}/claim`, { as });

const OTHER = { as: SECOND_OPERATOR };
const settledBy = (as: UserCaller, outcome: 'paid' | 'rejected', reference: string | null) => ({
  message: 'This has already been settled.',
  code: 'payments.already_settled',
  settled_by: as.userId,
  settled_at: expect.stringMatching(/^\d{4}-\d\d-\d\d \d\d:\d\d:\d\d$/),
  outcome,
  reference,
});

describe('what a repeat is', () => {
  test.each(['pay', 'reject'] as const)(
    'the same %s with the same text returns the payment',
    async (verb) => {
      const { id } = await withdrawal();
      const text = verb === 'pay' ? { reference: '1111' } : { reason: 'Closed' };
      const first = await settle(verb, id, text);
      const again = await settle(verb, id, text, { send: second, key: 'another' });
      expect([again.status, again.text]).toEqual([200, first.text]);
    },
  );

  test.each(['pay', 'reject'] as const)(
    'a %s without a text is repeated under its key alone',
    async (verb) => {
      const { id } = await withdrawal();
      const first = await settle(verb, id, {}, { key: 'a' });
      const statuses = [];
      for (const options of [{ key: 'a' }, { key: 'b' }, {}, { key: 'a', as: SECOND_OPERATOR }])
        statuses.push((await settle(verb, id, {}, options)).status);
      expect([first.status, ...statuses]).toEqual([200, 200, 409, 409, 409]);
    },
  );

  test('without a text and a key, nothing is a repeat', async () => {
    const { id } = await withdrawal();
    expect((await settle('pay', id)).status).toBe(200);
    const again = await settle('pay', id);
    expect([again.status, again.body]).toEqual([409, settledBy(OPERATOR, 'paid', null)]);
  });

  test('another reference, operator or outcome gets 409 with who has paid and with which reference', async () => {
    const { id } = await withdrawal();
    await settle('pay', id, { reference: '1111' }, { key: 'a' });
    const others = [
      settle('pay', id, { reference: '2222' }, { key: 'a' }),
      settle('pay', id, { reference: '1111' }, OTHER),
      settle('pay', id, {}, { key: 'a' }),
      settle('reject', id, { reason: '1111' }),
    ];
    for (const { status, body } of await Promise.all(others))
      expect([status, body]).toEqual([409, settledBy(OPERATOR, 'paid', '1111')]);
    expect(await harness.connection.collection('ledger_entries').countDocuments({ payment_ids: id })).toBe(2);
  });

  test('a repeat is recognized after the erasure of the payer, whose texts are gone', async () => {
    const { id, userId } = await withdrawal();
    const open = await withdrawal(harness.person());
    await settle('pay', id, { reference: 'TRX-SARA' });
    await eraseAccount(harness, userId);
    await eraseAccount(harness, open.userId);
    await settle('pay', open.id, { reference: 'TRX-SARA' });
    for (const payment of [id, open.id]) {
      expect((await settle('pay', payment, { reference: 'TRX-SARA' })).status).toBe(200);
      const other = await settle('pay', payment, { reference: 'TRX-ALI' });
      expect([other.status, other.body]).toEqual([409, settledBy(OPERATOR, 'paid', null)]);
    }
    const stored = await harness.connection
      .collection('payments')
      .find({ _id: { $in: [id, open.id] as never[] } })
      .toArray();
    expect(JSON.stringify(stored)).not.toContain('SARA');
  });

  test('a 409 does not show the reference of an account that identity alone has erased', async () => {
    const { id, userId } = await withdrawal();
    await settle('pay', id, { reference: 'TRX-SARA' });
    harness.erase(userId);
    const refused = [await settle('pay', id, { reference: '2' }), await claim(id)];
    for (const { status, body } of refused)
      expect([status, body]).toEqual([409, settledBy(OPERATOR, 'paid', null)]);
  });

  test('a withdrawal that an older release has settled is refused, without an operator', async () => {
    const { id } = await withdrawal();
    await settle('pay', id, { reference: '1111' });
    await harness.connection
      .collection('payments')
      .updateOne({ _id: id as never }, { $unset: { settlement: '' } });
    const again = await settle('pay', id, { reference: '1111' });
    expect([again.status, again.body]).toEqual([
      409,
      { ...settledBy(OPERATOR, 'paid', '1111'), settled_by: null, settled_at: null },
    ]);
  });
});

describe('a claim', () => {
  const claimedBy = (as: UserCaller) => ({
    message: 'Another operator has claimed this withdrawal.',
    code: 'payments.claimed',
    claimed_by: as.userId,
    claimed_until: expect.any(String),
  });

  test('a claimed withdrawal is for its operator alone, for 30 minutes', async () => {
    const { id } = await withdrawal();
    const { status, body } = await claim(id);
    expect([status, body.payment.meta.claimed_by]).toEqual([200, OPERATOR.userId]);
    const refused = [
      await claim(id, SECOND_OPERATOR),
      await release(id, SECOND_OPERATOR),
      await settle('pay', id, { reference: '2' }, { ...OTHER, send: second }),
      await settle('reject', id, { reason: 'x' }, { ...OTHER, send: second }),
    ];
    for (const answer of refused) expect([answer.status, answer.body]).toEqual([409, claimedBy(OPERATOR)]);
    clock.advance(29 * MINUTE_MS);
    expect((await claim(id)).status).toBe(200);
    clock.advance(29 * MINUTE_MS);
    expect((await claim(id, SECOND_OPERATOR)).status).toBe(409);
    clock.advance(MINUTE_MS);
    const taken = await claim(id, SECOND_OPERATOR);
    expect([taken.status, taken.body.payment.meta.claimed_by]).toEqual([200, SECOND_OPERATOR.userId]);
    expect((await settle('pay', id, { reference: '2' }, { ...OTHER, send: second })).status).toBe(200);
  });

  test('only operators see it, and a settled withdrawal has none', async () => {
    const as = harness.person();
    const { id } = await withdrawal(as);
    await claim(id);
    const metaFor = async (viewer: UserCaller) =>
      Object.keys((await harness.send('GET', `/payments/${id}`, { as: viewer })).body.payment.meta);
    expect(await metaFor(as)).toEqual(['bank_account_number']);
    expect(await metaFor(SECOND_OPERATOR)).toEqual(['bank_account_number', 'claimed_by', 'claimed_until']);
    await settle('pay', id, { reference: '1' }, { send: second });
    expect(await metaFor(OPERATOR)).toEqual(['bank_account_number', 'reference']);
    expect([(await claim(id)).status, (await release(id)).status]).toEqual([409, 204]);
  });

  test('another operator may take over a claim, and pay or reject without it', async () => {
    const { id } = await withdrawal();
    await claim(id);
    expect((await claim(id, SECOND_OPERATOR, { take_over: true })).status).toBe(200);
    expect((await settle('pay', id, { reference: '1' }, { send: second })).status).toBe(409);
    expect((await settle('pay', id, { reference: '1', take_over: true }, { send: second })).status).toBe(200);
  });

  test('a released withdrawal is free, and releasing it again changes nothing', async () => {
    const { id } = await withdrawal();
    await claim(id);
    expect([(await release(id)).status, (await release(id)).status]).toEqual([204, 204]);
    expect((await settle('reject', id, {}, { ...OTHER, send: second })).status).toBe(200);
  });

  test('an invalid take_over gets 422 under its field', async () => {
    const { id } = await withdrawal();
    const { status, body } = await claim(id, OPERATOR, { take_over: 'yes' });
    expect([status, Object.keys(body.errors)]).toEqual([422, ['take_over']]);
  });
});

describe('who may settle', () => {
  const attempts = (id: number, as: UserCaller) => [
    settle('pay', id, {}, { as }),
    settle('reject', id, {}, { as }),
    claim(id, as),
    release(id, as),
  ];

  test('an operator’s own withdrawal is for another operator', async () => {
    const own = { ...harness.person(), permissions: OPERATOR.permissions };
    const { id } = await withdrawal(own);
    for (const { status } of await Promise.all(attempts(id, own))) expect(status).toBe(403);
    expect((await settle('pay', id, {}, OTHER)).status).toBe(200);
  });

  test('tokens other than log-in sessions may not', async () => {
    const { id } = await withdrawal();
    for (const tokenKind of ['personal', 'restricted', 'oauth'] as const)
      for (const { status } of await Promise.all(attempts(id, { ...OPERATOR, tokenKind })))
        expect(status).toBe(403);
  });

  test('another payment and an unknown id get 404', async () => {
    const income = await harness.give(harness.person().userId, 5);
    for (const id of [income, 999_999])
      for (const { status } of await Promise.all(attempts(id, OPERATOR))) expect(status).toBe(404);
  });
});
