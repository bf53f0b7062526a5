/** What the release before the seals has stored: it is shown, goes on, and is sealed like everything else. */
import type { UserCaller } from '@fitness/shared/caller.ts';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { OPERATOR, startWorld, type World } from './support.ts';

let world: World;
let member: UserCaller;
let openDeposit: number;
let trackId: string;

/** The form in which that release has stored what is there now. */
const makeOld = async (): Promise<void> => {
  const { connection } = world;
  await connection
    .collection('payments')
    .updateMany({ type: 'deposit' }, { $unset: { 'gateway.order_id': 1, 'gateway.reported': 1 } });
  await connection.collection('ledger_entries').updateMany({}, { $unset: { hash: 1, seal: 1 } });
  await connection.collection('upgrades').deleteMany({});
};

/** It told the gateway the number of the payment, where this one tells a secret. */
const orderAsBefore = async (): Promise<void> => {
  const asked = await fetch(`${world.sandboxUrl}/zibal/v1/request`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({
      merchant: 'zibal',
      amount: 10_100,
      callbackUrl: 'http://127.0.0.1/callback',
      orderId: String(openDeposit),
    }),
  });
  ({ trackId } = (await asked.json()) as { trackId: string });
  await world.connection
    .collection<{ _id: number }>('payments')
    .updateOne({ _id: openDeposit }, { $set: { 'gateway.track_id': String(trackId) } });
};

beforeAll(async () => {
  world = await startWorld({ LEDGER_SEAL_SECONDS: 3_600 });
  member = world.person();
  await world.give(member.userId, 5_000);
  const open = await world.send('POST', '/payments/deposit', { as: member, body: { amount: 1_000 } });
  openDeposit = open.body.payment.id;
  await orderAsBefore();
  await world.send('POST', '/payments/withdrawals', { as: member, body: { amount: 2_000 } });
  await makeOld();
  world.wallet = await world.replica();
});
afterAll(() => world.close());

test('every payment is shown', async () => {
  const { status, body } = await world.send('GET', '/payments', { as: member });
  expect(status).toBe(200);
  expect(body.data.map(({ type }: { type: string }) => type).sort()).toEqual([
    'deposit',
    'income',
    'withdrawal',
  ]);
  expect((await world.send('GET', `/payments/${openDeposit}`, { as: OPERATOR })).status).toBe(200);
});

test('an open deposit is credited when it is paid', async () => {
  const before = await world.balanceOf(member.userId);
  await fetch(`${world.sandboxUrl}/_sandbox/zibal/${trackId}/pay`, { method: 'POST', redirect: 'manual' });
  const answer = await world.send(
    'GET',
    `/payments/deposit/callback?trackId=${trackId}&success=1&status=2&orderId=${openDeposit}`,
  );
  expect([answer.status, answer.body.payment?.is_done]).toEqual([200, true]);
  expect(await world.balanceOf(member.userId)).toBe(before + 1_000);
});

test('what was booked is sealed, and the audit finds nothing', async () => {
  expect(await world.wallet.sealLedger()).toBeGreaterThanOrEqual(2);
  const report = await world.inspect();
  expect([report.difference, report.unsealed]).toEqual([undefined, 0]);
});

test('what loses its hash afterwards is not taken as it stands again', async () => {
  await world.connection
    .collection('ledger_entries')
    .updateOne({}, { $unset: { hash: 1 }, $set: { seal: null } });
  const restarted = await world.replica();
  await restarted.sealLedger();
  expect((await world.inspect()).difference).toBeDefined();
});
