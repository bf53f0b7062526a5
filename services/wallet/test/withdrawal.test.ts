import type { UserCaller } from '@fitness/shared/kernel/caller.ts';
import {
  apiClient,
  appCaller,
  caller,
  restrictedCaller,
  type Send,
} from '@fitness/shared/testing/harness.ts';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { decided, eraseAccount, type Harness, OPERATOR, startHarness, together } from './support.ts';

/** The bank account of every person of the harness. */
const ACCOUNT = 'IR062960000000100324200001';

let harness: Harness;
let send: Send;

beforeAll(async () => {
  harness = await startHarness();
  send = harness.send;
});

afterAll(() => harness.close());

const userWithBalance = async (balance: number) => {
  const as = harness.person();
  await harness.give(as.userId, balance);
  return as;
};

const withdraw = async (as: Awaited<ReturnType<typeof userWithBalance>>, amount: number): Promise<number> => {
  const answer = await send('POST', '/payments/withdrawals', { as, body: { amount } });
  expect(answer.status).toBe(201);
  return answer.body.payment.id;
};

describe('POST /payments/withdrawals', () => {
  test('a withdrawal holds its amount at once', async () => {
    const as = await userWithBalance(80_000);
    const answer = await send('POST', '/payments/withdrawals', {
      as,
      body: { amount: 50_000, description: 'Rent' },
    });
    expect(answer.status).toBe(201);
    expect(answer.body.payment).toMatchObject({
      user_id: as.userId,
      type: 'withdrawal',
      amount: 50_000,
      description: 'Rent',
      meta: { bank_account_number: ACCOUNT },
      is_done: false,
      rejected_at: null,
    });
    expect(answer.body.payment).not.toHaveProperty('user_balance');
    expect(await harness.balanceOf(as.userId)).toBe(30_000);
    const { id } = answer.body.payment;
    const event = await harness.tap.waitFor('wallet.payment.booked', {
      matches: ({ subject }) => subject === String(id),
    });
    expect(event.data).toEqual({ payment_id: id, user_id: as.userId, type: 'withdrawal', amount: 50_000 });
  });

  test('user_balance with payments.view_all is the balance after the hold and after both outcomes', async () => {
    const person = await userWithBalance(3_000);
    const as = { ...person, permissions: new Set([...person.permissions, 'payments.view_all' as const]) };
    const ask = async () =>
      (await send('POST', '/payments/withdrawals', { as, body: { amount: 1_000 } })).body.payment;
    const [first, second] = [await ask(), await ask()];
    expect([first.user_balance, second.user_balance]).toEqual([2_000, 1_000]);
    const settled = async (id: number, verb: string) =>
      (await send('POST', `/payments/${id}/${verb}`, { as: OPERATOR })).body.payment.user_balance;
    expect(await settled(first.id, 'pay')).toBe(1_000);
    expect(await settled(second.id, 'reject')).toBe(2_000);
  });

  test('a withdrawal of more than the balance is rejected with 422 under amount, and nothing is held', async () => {
    const as = await userWithBalance(1_000);
    const answer = await send('POST', '/payments/withdrawals', { as, body: { amount: 1_001 } });
    expect(answer.status).toBe(422);
    expect(answer.body.errors).toEqual({ amount: ['Your balance is too low.'] });
    expect(await harness.balanceOf(as.userId)).toBe(1_000);
  });

  test('a withdrawal without a bank account is rejected with 422 under bank_account_number', async () => {
    for (const bankAccount of [null, '  ']) {
      const as = harness.person({ bankAccount });
      await harness.give(as.userId, 1_000);
      const answer = await send('POST', '/payments/withdrawals', { as, body: { amount: 500 } });
      expect(answer.status).toBe(422);
      expect(Object.keys(answer.body.errors)).toEqual(['bank_account_number']);
      expect(await harness.balanceOf(as.userId)).toBe(1_000);
    }
  });

  test('an unreachable identity causes a 503, and nothing is held', async () => {
    const as = await userWithBalance(1_000);
    harness.setIdentityDown(true);
    const answer = await send('POST', '/payments/withdrawals', { as, body: { amount: 500 } });
    harness.setIdentityDown(false);
    expect(answer.status).toBe(503);
    expect(await harness.balanceOf(as.userId)).toBe(1_000);
  });

  test('twenty concurrent withdrawals never hold more than the balance', async () => {
    const as = await userWithBalance(5_000);
    const answers = await together(20, () =>
      send('POST', '/payments/withdrawals', { as, body: { amount: 1_000 } }),
    );
    const statuses = answers.map(({ status }) => status);
    expect(statuses.filter((status) => status === 201)).toHaveLength(5);
    expect(statuses.filter((status) => status === 422)).toHaveLength(15);
    expect(await harness.balanceOf(as.userId)).toBe(0);
  });

  test('a repeated Idempotency-Key holds the amount once and returns the same bytes', async () => {
    const as = await userWithBalance(5_000);
    const headers = { 'idempotency-key': 'withdraw-again' };
    const request = () =>
      send('POST', '/payments/withdrawals', { as, headers, body: { amount: 1_000, description: 'Rent' } });
    const first = await request();
    const again = await request();
    expect([first.status, again.status]).toEqual([201, 201]);
    expect(again.text).toBe(first.text);
    expect(await harness.balanceOf(as.userId)).toBe(4_000);
  });

  test('an Idempotency-Key with another amount gets 422 under idempotency_key, and holds nothing', async () => {
    const as = await userWithBalance(5_000);
    const headers = { 'idempotency-key': 'withdraw-other' };
    const ask = (amount: number) => send('POST', '/payments/withdrawals', { as, headers, body: { amount } });
    expect((await ask(1_000)).status).toBe(201);
    const { status, body } = await ask(1_001);
    expect([status, Object.keys(body.errors ?? {})]).toEqual([422, ['idempotency_key']]);
    expect(await harness.balanceOf(as.userId)).toBe(4_000);
  });

  test('twenty concurrent requests with one Idempotency-Key hold once, and all return 201 or 409', async () => {
    const as = await userWithBalance(5_000);
    const headers = { 'idempotency-key': 'withdraw-1' };
    const request = () => send('POST', '/payments/withdrawals', { as, body: { amount: 1_000 }, headers });
    const answers = await together(20, request);
    expect(answers.every(({ status }) => status === 201 || status === 409)).toBe(true);
    const later = await request();
    expect(later.status).toBe(201);
    const ids = [...answers, later].filter(({ status }) => status === 201).map(({ body }) => body.payment.id);
    expect(new Set(ids).size).toBe(1);
    expect(await harness.balanceOf(as.userId)).toBe(4_000);
  });
});

describe('POST /payments/:id/pay and /reject', () => {
  test('paying a withdrawal does not change the balance', async () => {
    const as = await userWithBalance(3_000);
    const id = await withdraw(as, 2_000);
    const answer = await send('POST', `/payments/${id}/pay`, { as: OPERATOR });
    expect(answer.status).toBe(200);
    expect(answer.body.payment).toMatchObject({ id, is_done: true, rejected_at: null, user_balance: 1_000 });
    expect(answer.body.payment.meta).toEqual({ bank_account_number: ACCOUNT });
    expect(await harness.balanceOf(as.userId)).toBe(1_000);
    const event = await harness.tap.waitFor('wallet.withdrawal.settled', {
      matches: ({ subject }) => subject === String(id),
    });
    expect(event.data).toEqual({
      payment_id: id,
      user_id: as.userId,
      amount: 2_000,
      outcome: 'paid',
      reason: null,
    });
  });

  test('rejecting a withdrawal releases the hold', async () => {
    const as = await userWithBalance(3_000);
    const id = await withdraw(as, 2_000);
    const answer = await send('POST', `/payments/${id}/reject`, { as: OPERATOR });
    expect(answer.status).toBe(200);
    expect(answer.body.payment).toMatchObject({ id, is_done: false, user_balance: 3_000 });
    expect(answer.body.payment.rejected_at).toMatch(/^\d{4}-\d\d-\d\d \d\d:\d\d:\d\d$/);
    expect(await harness.balanceOf(as.userId)).toBe(3_000);
    const event = await harness.tap.waitFor('wallet.withdrawal.settled', {
      matches: ({ subject }) => subject === String(id),
    });
    expect(event.data).toMatchObject({ outcome: 'rejected' });
  });

  test('two operators on two processes have exactly one outcome, which only its repeats return', async () => {
    const processes = [send, apiClient('wallet', (await harness.replica()).url)] as const;
    const as = await userWithBalance(2_000);
    const id = await withdraw(as, 2_000);
    const answers = await together(20, async (index) => {
      const verb = index % 2 === 0 ? 'pay' : 'reject';
      const by = processes[index % 2 === 0 ? 0 : 1];
      const text = { reference: '1111', reason: 'Wrong' };
      const { status, body } = await decided(() =>
        by('POST', `/payments/${id}/${verb}`, { as: OPERATOR, body: text }),
      );
      return { verb, status, body };
    });
    const settled = answers.filter(({ status }) => status === 200);
    const refused = answers.filter(({ status }) => status === 409);
    const [verb, ...others] = new Set(settled.map((answer) => answer.verb));
    expect([others, settled.length, refused.length]).toEqual([[], 10, 10]);
    for (const { body } of settled)
      expect([body.payment.is_done, body.payment.rejected_at !== null]).toEqual([
        verb === 'pay',
        verb === 'reject',
      ]);
    expect(await harness.balanceOf(as.userId)).toBe(verb === 'pay' ? 0 : 2_000);
    const matches = ({ subject }: { subject: string }) => subject === String(id);
    const event = await harness.tap.waitFor('wallet.withdrawal.settled', { matches });
    expect(event.data).toMatchObject({ outcome: verb === 'pay' ? 'paid' : 'rejected' });
    const published = harness.tap.events.filter(
      ({ type, subject }) => type === event.type && subject === String(id),
    );
    expect(new Set(published.map(({ id: eventId }) => eventId)).size).toBe(1);
  });

  test('the reason of a rejection is in meta for the operator and the user, and a repeat keeps it', async () => {
    const as = await userWithBalance(3_000);
    const reject = async (body?: unknown) => {
      const id = await withdraw(as, 1_000);
      return send('POST', `/payments/${id}/reject`, { as: OPERATOR, body });
    };
    const first = await reject({ reason: '  The account is closed.\n' });
    const meta = { bank_account_number: ACCOUNT, reason: 'The account is closed.' };
    expect([first.status, first.body.payment.meta]).toEqual([200, meta]);
    const path = `/payments/${first.body.payment.id}`;
    const event = await harness.tap.waitFor('wallet.withdrawal.settled', {
      matches: ({ subject }) => subject === String(first.body.payment.id),
    });
    expect(event.data).toMatchObject({ outcome: 'rejected', amount: 1_000, reason: meta.reason });
    const again = await send('POST', `${path}/reject`, { as: OPERATOR, body: { reason: meta.reason } });
    expect([again.status, again.body.payment.meta]).toEqual([200, meta]);
    const other = await send('POST', `${path}/reject`, { as: OPERATOR, body: { reason: 'Another one.' } });
    expect(other.status).toBe(409);
    expect((await send('GET', path, { as })).body.payment.meta).toEqual(meta);
    for (const body of [{ reason: null }, { reason: ' ' }])
      expect((await reject(body)).body.payment.meta).toEqual({ bank_account_number: ACCOUNT });
  });

  test('an invalid reason of a rejection gets 422 under reason, and nothing is settled', async () => {
    const as = await userWithBalance(1_000);
    const id = await withdraw(as, 1_000);
    for (const reason of [7, ['x'], {}, 'x'.repeat(2_001), 'half a pair \ud800']) {
      const { status, body } = await send('POST', `/payments/${id}/reject`, {
        as: OPERATOR,
        body: { reason },
      });
      expect([reason, status, Object.keys(body.errors ?? {})]).toEqual([reason, 422, ['reason']]);
    }
    expect(await harness.balanceOf(as.userId)).toBe(0);
  });

  test('the reason of a rejection is removed with the account, and not stored after its erasure', async () => {
    const as = await userWithBalance(2_000);
    const ids = [await withdraw(as, 1_000), await withdraw(as, 1_000)];
    const reject = (id: number | undefined) =>
      send('POST', `/payments/${id}/reject`, { as: OPERATOR, body: { reason: 'About Sara' } });
    await reject(ids[0]);
    await eraseAccount(harness, as.userId);
    await reject(ids[1]);
    for (const id of ids)
      expect((await send('GET', `/payments/${id}`, { as: OPERATOR })).body.payment).toMatchObject({
        rejected_at: expect.any(String),
        meta: { bank_account_number: null },
      });
    const stored = await harness.connection.collection('payments').find({ user_id: as.userId }).toArray();
    expect(JSON.stringify(stored)).not.toContain('Sara');
  });

  test('the bank’s reference is in meta for the operator and the user, and a repeat keeps it', async () => {
    const as = await userWithBalance(4_000);
    const pay = async (body?: unknown) =>
      send('POST', `/payments/${await withdraw(as, 1_000)}/pay`, { as: OPERATOR, body });
    const first = await pay({ reference: '  ۱۴۰۵-TRX/77 ' });
    const meta = { bank_account_number: ACCOUNT, reference: '۱۴۰۵-TRX/77' };
    expect([first.status, first.body.payment.meta]).toEqual([200, meta]);
    const path = `/payments/${first.body.payment.id}`;
    const again = await send('POST', `${path}/pay`, { as: OPERATOR, body: { reference: meta.reference } });
    expect([again.status, again.body.payment.meta]).toEqual([200, meta]);
    expect((await send('GET', path, { as })).body.payment.meta).toEqual(meta);
    for (const body of [{ reference: null }, { reference: ' ' }])
      expect((await pay(body)).body.payment.meta).toEqual({ bank_account_number: ACCOUNT });
  });

  test('an invalid reference of the bank gets 422 under reference, and nothing is settled', async () => {
    const as = await userWithBalance(1_000);
    const id = await withdraw(as, 1_000);
    const lines = ['two\nlines', 'two\u2028lines', 'a\u0000b', '\u200b', '\u2800', 'abc\u202e321'];
    for (const reference of [7, ['x'], {}, 'x'.repeat(256), 'half a pair \ud800', ...lines]) {
      const { status, body } = await send('POST', `/payments/${id}/pay`, {
        as: OPERATOR,
        body: { reference },
      });
      expect([reference, status, Object.keys(body.errors ?? {})]).toEqual([reference, 422, ['reference']]);
    }
    const { payment } = (await send('GET', `/payments/${id}`, { as })).body;
    expect([payment.is_done, payment.rejected_at]).toEqual([false, null]);
  });

  test('the bank’s reference is removed with the account, and not stored after its erasure', async () => {
    const as = await userWithBalance(2_000);
    const ids = [await withdraw(as, 1_000), await withdraw(as, 1_000)];
    const pay = (id: number | undefined) =>
      send('POST', `/payments/${id}/pay`, { as: OPERATOR, body: { reference: 'TRX-SARA' } });
    await pay(ids[0]);
    await eraseAccount(harness, as.userId);
    await pay(ids[1]);
    for (const id of ids)
      expect((await send('GET', `/payments/${id}`, { as: OPERATOR })).body.payment).toMatchObject({
        is_done: true,
        meta: { bank_account_number: null },
      });
    const stored = await harness.connection.collection('payments').find({ user_id: as.userId }).toArray();
    expect(JSON.stringify(stored)).not.toContain('SARA');
  });

  test('the settlement of another type of payment or an unknown id returns 404', async () => {
    const income = await harness.give(harness.person().userId, 5);
    for (const id of [income, 999_999, 'abc', '0', '9007199254740993'])
      expect((await send('POST', `/payments/${id}/pay`, { as: OPERATOR })).status).toBe(404);
  });

  test('a settlement returns 403 without payments.settle_withdrawals, and 401 for a guest', async () => {
    const as = await userWithBalance(1_000);
    const id = await withdraw(as, 1_000);
    const viewer = caller(as.userId, ['payments.view_own', 'payments.view_all']);
    expect((await send('POST', `/payments/${id}/pay`, { as: viewer })).status).toBe(403);
    expect((await send('POST', `/payments/${id}/reject`, {})).status).toBe(401);
  });

  test('an unreachable identity causes a 503, and nothing is settled', async () => {
    const as = await userWithBalance(1_000);
    const id = await withdraw(as, 1_000);
    harness.setIdentityDown(true);
    const answer = await send('POST', `/payments/${id}/reject`, { as: OPERATOR });
    harness.setIdentityDown(false);
    expect(answer.status).toBe(503);
    expect(await harness.balanceOf(as.userId)).toBe(0);
  });
});

describe('the bank account of a withdrawal', () => {
  const OTHER = 'IR120570028780010957775103';
  const stored = async (id: number) =>
    (await harness.connection.collection('payments').findOne({ _id: id as never }))?.meta;

  test('the user sees the bank account with a session or personal token, not with other tokens', async () => {
    const as = await userWithBalance(1_000);
    const id = await withdraw(as, 1_000);
    const seenBy = async (viewer: UserCaller): Promise<unknown[]> => {
      const one = await send('GET', `/payments/${id}`, { as: viewer });
      const list = await send('GET', '/payments?type=withdrawal', { as: viewer });
      expect([one.status, list.status]).toEqual([200, 200]);
      return [one.body.payment.meta, ...list.body.data.map(({ meta }: { meta: unknown }) => meta)];
    };
    const shown = { bank_account_number: ACCOUNT };
    expect(await seenBy(as)).toEqual([shown, shown]);
    expect(await seenBy({ ...as, tokenKind: 'personal' })).toEqual([shown, shown]);
    for (const token of [restrictedCaller, appCaller])
      expect(await seenBy(token(as.userId, 'payments.view_own'))).toEqual([{}, {}]);
    const paying = ['payments.view_own', 'payments.settle_withdrawals'] as const;
    expect(await seenBy(restrictedCaller(as.userId, ...paying))).toEqual([shown, shown]);
  });

  test.each(['pay', 'reject'])(
    'the bank account of a withdrawal does not follow the profile, even at the %s',
    async (verb) => {
      const as = await userWithBalance(1_000);
      const id = await withdraw(as, 1_000);
      for (const changed of [OTHER, null]) {
        harness.changeBankAccount(as.userId, changed);
        for (const viewer of [as, OPERATOR]) {
          const { body } = await send('GET', `/payments/${id}`, { as: viewer });
          expect(body.payment.meta).toEqual({ bank_account_number: ACCOUNT });
        }
      }
      const { body } = await send('POST', `/payments/${id}/${verb}`, { as: OPERATOR });
      expect(body.payment.meta).toEqual({ bank_account_number: ACCOUNT });
      harness.changeBankAccount(as.userId, OTHER);
      await harness.give(as.userId, 1_000);
      const next = await withdraw(as, 1_000);
      const list = await send('GET', '/payments?type=withdrawal', { as });
      expect(
        list.body.data.map(({ id: listed, meta }: { id: number; meta: unknown }) => [listed, meta]),
      ).toEqual([
        [next, { bank_account_number: OTHER }],
        [id, { bank_account_number: ACCOUNT }],
      ]);
    },
  );

  test('payments.view_all alone does not show the bank account, and payments.settle_withdrawals does', async () => {
    const as = await userWithBalance(1_000);
    const id = await withdraw(as, 1_000);
    const accountant = caller(900_002, ['payments.view_own', 'payments.view_all']);
    for (const path of [`/payments/${id}`, `/payments?user_id=${as.userId}&type=withdrawal`]) {
      const hidden = await send('GET', path, { as: accountant });
      expect(hidden.status).toBe(200);
      expect(hidden.text).not.toContain(ACCOUNT);
      for (const viewer of [as, OPERATOR])
        expect((await send('GET', path, { as: viewer })).text).toContain(
          `"meta":{"bank_account_number":"${ACCOUNT}"}`,
        );
    }
  });

  test('an erasure removes the bank account, or for an open withdrawal its settlement does', async () => {
    const as = await userWithBalance(4_000);
    const ids = [await withdraw(as, 1_000), await withdraw(as, 1_000)];
    const open = [await withdraw(as, 1_000), await withdraw(as, 1_000)];
    const settle = async ([paid, rejected]: number[]) => {
      for (const [id, verb] of [
        [paid, 'pay'],
        [rejected, 'reject'],
      ])
        expect((await send('POST', `/payments/${id}/${verb}`, { as: OPERATOR })).status).toBe(200);
    };
    await settle(ids);
    await eraseAccount(harness, as.userId);
    for (const id of ids) expect(await stored(id)).toEqual({ bank_account_number: null });
    for (const id of open) expect(await stored(id)).toEqual({ bank_account_number: ACCOUNT });
    const due = await send('GET', `/payments/${open[0]}`, { as: OPERATOR });
    expect(due.body.payment.meta).toEqual({ bank_account_number: ACCOUNT });
    await settle(open);
    for (const id of open) expect(await stored(id)).toEqual({ bank_account_number: null });
  });

  test('the bank account does not outlive settlements that run concurrently with the erasure', async () => {
    const as = await userWithBalance(8);
    const ids: number[] = [];
    for (let each = 0; each < 8; each += 1) ids.push(await withdraw(as, 1));
    const [, ...settled] = await Promise.all([
      eraseAccount(harness, as.userId),
      ...ids.map((id, index) =>
        decided(() =>
          send('POST', `/payments/${id}/${index % 2 === 0 ? 'pay' : 'reject'}`, { as: OPERATOR }),
        ),
      ),
    ]);
    expect(settled.map(({ status }) => status)).toEqual(Array(8).fill(200));
    for (const id of ids) expect(await stored(id)).toEqual({ bank_account_number: null });
  });

  test('meta is null for a withdrawal of an older release, which is settled and erased like any other', async () => {
    const as = await userWithBalance(3_000);
    const ids = [await withdraw(as, 1_000), await withdraw(as, 1_000), await withdraw(as, 1_000)];
    await harness.connection
      .collection('payments')
      .updateMany({ _id: { $in: ids as never[] } }, { $set: { meta: null } });
    const { body } = await send('POST', `/payments/${ids[0]}/pay`, { as: OPERATOR });
    expect(body.payment).toMatchObject({ is_done: true, meta: null });
    await eraseAccount(harness, as.userId);
    expect((await send('POST', `/payments/${ids[1]}/reject`, { as: OPERATOR })).body.payment.meta).toBeNull();
    expect((await send('GET', `/payments/${ids[2]}`, { as: OPERATOR })).body.payment.meta).toBeNull();
  });
});

test('the audit finds no difference after these tests', async () => {
  expect((await harness.audit()).difference).toBeUndefined();
});
