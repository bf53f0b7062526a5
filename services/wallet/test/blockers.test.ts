import type { BlockersDefinition } from '@fitness/proto/gen/fitness/common/v1/Blockers.ts';
import type { GrpcClient } from '@fitness/shared/grpc/client.ts';
import { grpcDefinitions } from '@fitness/shared/grpc/load.ts';
import { testClient } from '@fitness/shared/testing/harness.ts';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { type Harness, OPERATOR, startHarness } from './support.ts';

let harness: Harness;
let blockers: GrpcClient<BlockersDefinition>;

beforeAll(async () => {
  harness = await startHarness();
  blockers = testClient('wallet', grpcDefinitions.blockers(), harness.wallet.grpcAddress);
});

afterAll(async () => {
  blockers.close();
  await harness.close();
});

const evaluate = async (userId: number, code: string) => {
  const { applies, extras_json: extras } = await blockers.call('Evaluate', { user_id: userId, code });
  return { applies, extras: JSON.parse(extras) };
};

test('unsettled_balance applies to every positive or negative balance', async () => {
  const { userId } = harness.person();
  expect(await evaluate(userId, 'unsettled_balance')).toEqual({ applies: false, extras: {} });
  await harness.give(userId, 250);
  expect(await evaluate(userId, 'unsettled_balance')).toEqual({ applies: true, extras: { balance: 250 } });
  await harness.connection
    .collection('wallets')
    .updateOne({ _id: userId as never }, { $set: { balance: -3 } });
  expect(await evaluate(userId, 'unsettled_balance')).toEqual({ applies: true, extras: { balance: -3 } });
});

test('pending_withdrawal counts the withdrawals that are neither paid nor rejected', async () => {
  const as = harness.person();
  await harness.give(as.userId, 300);
  const ids: number[] = [];
  for (let i = 0; i < 3; i += 1) {
    const { body } = await harness.send('POST', '/payments/withdrawals', { as, body: { amount: 100 } });
    ids.push(body.payment.id);
  }
  expect(await evaluate(as.userId, 'pending_withdrawal')).toEqual({ applies: true, extras: { count: 3 } });
  await harness.send('POST', `/payments/${ids[0]}/pay`, { as: OPERATOR });
  await harness.send('POST', `/payments/${ids[1]}/reject`, { as: OPERATOR });
  expect(await evaluate(as.userId, 'pending_withdrawal')).toEqual({ applies: true, extras: { count: 1 } });
  await harness.send('POST', `/payments/${ids[2]}/pay`, { as: OPERATOR });
  expect(await evaluate(as.userId, 'pending_withdrawal')).toEqual({ applies: false, extras: {} });
});

test.each(['gym_ownership', 'nonsense', ''])(
  'the blocker %p, which the wallet does not own, is not found',
  async (code) => {
    await expect(evaluate(1, code)).rejects.toMatchObject({ kind: 'not_found' });
  },
);
