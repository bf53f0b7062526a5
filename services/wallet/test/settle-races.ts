/** Two operators decide one withdrawal at the same time, over two processes. */
import { apiClient, type Send } from '@fitness/shared/testing/harness.ts';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { decided, type Harness, OPERATOR, SECOND_OPERATOR, startHarness, together } from './support.ts';

const AMOUNT = 1_000;
let harness: Harness;
let senders: Send[];

const decideAtOnce = async (id: number) =>
  together(6, async (index) => {
    const as = index % 2 === 0 ? OPERATOR : SECOND_OPERATOR;
    const verb = (['pay', 'reject', 'claim'] as const)[index % 3] ?? 'pay';
    const body = { reference: String(index), reason: String(index), take_over: index > 2 };
    const send = senders[index < 3 ? 0 : 1] as Send;
    const { status, body: answered } = await decided(() =>
      send('POST', `/payments/${id}/${verb}`, { as, body }),
    );
    return { verb, status, code: answered.code, reference: String(index) };
  });

/** Each round has one outcome; everybody else gets a 409, and a refused reference is in the audit log. */
export const testSettleRaces = (rounds: number): void => {
  beforeAll(async () => {
    harness = await startHarness();
    senders = [harness.send, apiClient('wallet', (await harness.replica()).url)];
  });
  afterAll(() => harness.close());

  test(`${rounds} rounds of claims, payments, rejections and take-overs have one outcome each`, async () => {
    const stored = (name: string, filter: object) =>
      harness.connection.collection(name).find(filter).toArray();
    for (let round = 0; round < rounds; round += 1) {
      const as = harness.person();
      await harness.give(as.userId, AMOUNT);
      const { body } = await harness.send('POST', '/payments/withdrawals', { as, body: { amount: AMOUNT } });
      const { id } = body.payment;
      const answers = await decideAtOnce(id);
      const decisions = answers.filter(({ verb }) => verb !== 'claim');
      const done = decisions.filter(({ status }) => status === 200);
      expect([round, done.length]).toEqual([round, 1]);
      const refused = answers.filter(({ status }) => status !== 200);
      for (const { status, code } of refused)
        expect([
          [409, 'payments.already_settled'],
          [409, 'payments.claimed'],
        ]).toContainEqual([status, code]);
      expect(await harness.balanceOf(as.userId)).toBe(done[0]?.verb === 'pay' ? 0 : AMOUNT);
      expect(await stored('ledger_entries', { payment_ids: id })).toHaveLength(2);
      const lost = refused.filter(({ verb }) => verb === 'pay');
      const recorded = await stored('audit_entries', { subject_id: id, action: 'withdrawal.pay_refused' });
      expect([round, recorded.length]).toEqual([round, lost.length]);
    }
  });
};
