import type { UserCaller } from '@fitness/shared/caller.ts';
import { DAY_MS, ManualClock, MINUTE_MS } from '@fitness/shared/clock.ts';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import type { RunningWallet } from '../src/service.ts';
import { atTheBank, setZibalMode, startWorld, together, type World } from './support.ts';

const clock = new ManualClock();
let world: World;
let other: RunningWallet;

beforeAll(async () => {
  world = await startWorld({}, { clock });
  other = await world.replica();
});

afterAll(() => world.close());

const deposit = async (as: UserCaller): Promise<{ id: number; url: string }> => {
  const { body } = await world.send('POST', '/payments/deposit', { as, body: { amount: 20_000 } });
  return { id: body.payment.id, url: body.payment_url };
};

const stateOf = async (id: number): Promise<unknown> => {
  const found = await world.connection.collection('payments').findOne({ _id: id as never });
  return found?.gateway.state;
};

test('a paid deposit whose callback never came is credited by the sweeper', async () => {
  const as = world.person();
  const { id, url } = await deposit(as);
  await atTheBank(world, url, 'pay');
  expect(await world.wallet.sweepDeposits()).toEqual({ asked: 0, credited: 0 });
  clock.advance(3 * MINUTE_MS);
  expect(await world.wallet.sweepDeposits()).toEqual({ asked: 1, credited: 1 });
  expect(await world.balanceOf(as.userId)).toBe(20_000);
  expect(await stateOf(id)).toBe('done');
});

test('two replicas that sweep at once ask about each deposit once and credit it once', async () => {
  const people = Array.from({ length: 5 }, () => world.person());
  for (const as of people) await atTheBank(world, (await deposit(as)).url, 'pay');
  clock.advance(3 * MINUTE_MS);
  const rounds = await together(4, (index) => (index % 2 === 0 ? world.wallet : other).sweepDeposits());
  expect(rounds.reduce((all, { asked }) => all + asked, 0)).toBe(5);
  for (const { userId } of people) expect(await world.balanceOf(userId)).toBe(20_000);
});

test('the sweeper and the callback at once credit once', async () => {
  const as = world.person();
  const { id, url } = await deposit(as);
  const callback = await atTheBank(world, url, 'pay');
  clock.advance(3 * MINUTE_MS);
  await Promise.all([world.wallet.sweepDeposits(), world.send('GET', callback), other.sweepDeposits()]);
  expect(await world.balanceOf(as.userId)).toBe(20_000);
  expect(await world.connection.collection('ledger_entries').countDocuments({ payment_ids: id })).toBe(1);
});

test('a deposit that nobody paid is asked about again and again, and expires after a day', async () => {
  const { id } = await deposit(world.person());
  clock.advance(3 * MINUTE_MS);
  expect((await world.wallet.sweepDeposits()).asked).toBe(1);
  expect(await stateOf(id)).toBe('open');
  clock.advance(DAY_MS);
  await world.wallet.sweepDeposits();
  expect(await stateOf(id)).toBe('expired');
  clock.advance(DAY_MS);
  expect((await world.wallet.sweepDeposits()).asked).toBe(0);
});

test('a cancelled deposit is closed and not asked about any more', async () => {
  const { id, url } = await deposit(world.person());
  await atTheBank(world, url, 'cancel');
  clock.advance(3 * MINUTE_MS);
  await world.wallet.sweepDeposits();
  expect(await stateOf(id)).toBe('cancelled');
  clock.advance(DAY_MS);
  expect((await world.wallet.sweepDeposits()).asked).toBe(0);
});

test('while the gateway is out of reach nothing is decided, and it is asked again later', async () => {
  const as = world.person();
  const { id, url } = await deposit(as);
  await atTheBank(world, url, 'pay');
  clock.advance(3 * MINUTE_MS);
  await setZibalMode(world, 'unreachable');
  expect(await world.wallet.sweepDeposits()).toEqual({ asked: 1, credited: 0 });
  await setZibalMode(world, 'ok');
  expect(await stateOf(id)).toBe('open');
  clock.advance(3 * MINUTE_MS);
  expect(await world.wallet.sweepDeposits()).toEqual({ asked: 1, credited: 1 });
  expect(await world.balanceOf(as.userId)).toBe(20_000);
});

test('after all of this the audit finds nothing', async () => {
  expect((await world.audit()).difference).toBeUndefined();
});
