import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { setTimeout } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import type { Connection } from 'mongoose';
import { createLog } from '../../src/kernel/log.ts';
import { type Upgrade, upgradeData } from '../../src/mongo/upgrades.ts';
import { ManualClock } from '../../src/testing/manual-clock.ts';
import { dropDatabase, log, openDatabase } from '../messaging/support.ts';
import { pricesAreNumbers, products } from './upgrade-example.ts';

const CRASH_PROCESS = fileURLToPath(new URL('./upgrade-crash-process.ts', import.meta.url));

let connection: Connection;
beforeAll(async () => {
  connection = await openDatabase();
});
afterAll(() => dropDatabase(connection));

const run = (upgrades: Upgrade[]): Promise<void> =>
  upgradeData({ connection, clock: new ManualClock(), log }, upgrades);

test('each upgrade runs once, in order; new ones run when they are added', async () => {
  const ran: string[] = [];
  const named = (name: string): Upgrade => ({ name, run: async () => ran.push(name) });
  await run([named('one'), named('two')]);
  await run([named('one'), named('two'), named('three')]);
  expect(ran).toEqual(['one', 'two', 'three']);
});

test('the log reports an upgrade that takes long', async () => {
  const lines: Record<string, unknown>[] = [];
  const destination = { write: (line: string) => void lines.push(JSON.parse(line)) };
  const log = createLog({ service: 'upgrades', level: 'warn', destination });
  const slow: Upgrade = { name: 'slow', run: () => setTimeout(100, 0) };
  await upgradeData({ connection, clock: new ManualClock(), log, everyMs: 20 }, [slow]);
  expect(lines).toContainEqual(expect.objectContaining({ upgrade: 'slow', seconds: 0 }));
});

test('a failing upgrade is not recorded, the next ones do not run, and the start fails', async () => {
  const ran: string[] = [];
  let fails = true;
  const broken: Upgrade = {
    name: 'broken',
    run: async () => {
      if (fails) throw new Error('the database is full');
      return ran.push('broken');
    },
  };
  const behind: Upgrade = { name: 'behind', run: async () => ran.push('behind') };
  await expect(run([broken, behind])).rejects.toThrow('the database is full');
  expect(ran).toEqual([]);
  fails = false;
  await run([broken, behind]);
  expect(ran).toEqual(['broken', 'behind']);
});

describe('an upgrade of fifty products', () => {
  const COUNT = 50;

  const storeOld = async (): Promise<void> => {
    await connection.collection('upgrades').deleteMany({});
    await products(connection).deleteMany({});
    await products(connection).insertMany(
      Array.from({ length: COUNT }, (_, _id) => ({ _id, price: String(_id), changes: 0 })),
    );
  };
  const countOf = (condition: Record<string, unknown>): Promise<number> =>
    products(connection).countDocuments(condition);
  const expectEachChangedOnce = async (): Promise<void> => {
    expect(await countOf({ price: { $type: 'number' }, changes: 1 })).toBe(COUNT);
  };
  beforeEach(storeOld);

  test('an upgrade runs once per database', async () => {
    await run([pricesAreNumbers(connection)]);
    await expectEachChangedOnce();
    await products(connection).updateOne({ _id: 7 }, { $set: { price: '7' } });
    await run([pricesAreNumbers(connection)]);
    expect(await countOf({ price: '7', changes: 1 })).toBe(1);
  });

  test('a killed upgrade is finished by the next start, and changes no product twice', async () => {
    const child = spawn(process.execPath, [CRASH_PROCESS, connection.name], { stdio: 'ignore' });
    expect(await once(child, 'exit')).toEqual([null, 'SIGKILL']);
    expect(await countOf({ changes: 1 })).toBe(20);
    await run([pricesAreNumbers(connection)]);
    await expectEachChangedOnce();
  });

  test('an upgrade by four concurrent replicas changes no product twice', async () => {
    const left = await Promise.all(
      Array.from({ length: 4 }, () =>
        run([pricesAreNumbers(connection)]).then(() => countOf({ price: { $type: 'string' } })),
      ),
    );
    expect(left).toEqual(Array(4).fill(0));
    await expectEachChangedOnce();
  });
});
