import { MINUTE_MS } from '@fitness/shared/kernel/clock.ts';
import { type Connection, connectMongo } from '@fitness/shared/mongo/connect.ts';
import { ensureIndexes } from '@fitness/shared/mongo/indexes.ts';
import { dropDatabase } from '@fitness/shared/testing/harness.ts';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import mongoose from 'mongoose';
import { type CodePurpose, issueCode, LOCKOUT_MS } from '../src/domain/confirmation-code.ts';
import { type Codes, createCodes } from '../src/store/codes.ts';
import { identityConfig } from './support.ts';

const config = identityConfig();
const now = new Date('2026-01-01T10:00:00Z');
const after = (ms: number) => new Date(now.getTime() + ms);
let connection: Connection;
let codes: Codes;
let people = 0;

beforeAll(async () => {
  connection = await connectMongo({ uri: config.MONGODB_URI, database: config.MONGODB_DATABASE });
  codes = createCodes(connection);
  await ensureIndexes(connection);
});
afterAll(async () => {
  await connection.close();
  await dropDatabase(config);
});

const stored = (userId: number) =>
  connection.collection('confirmation_codes').findOne({ _id: userId as never });

/** Creates an account with the code 123456 for both purposes and `failures` consecutive failures. Returns its id. */
const afterFailures = async (failures: number): Promise<number> => {
  people += 1;
  for (const purpose of ['deletion', 'reset'] as const) {
    await codes.replace(people, purpose, issueCode(`${purpose}-${people}`, '123456', now));
  }
  await connection
    .collection('confirmation_codes')
    .updateOne({ _id: people as never }, { $set: { wrong_in_row: failures } });
  return people;
};

const from = (network: string) => ({ network });
const triesOf = async (userId: number) => {
  const { tries, tries_by_network: byNetwork = {} } = (await stored(userId))?.reset ?? {};
  return { tries, byNetwork };
};

const guesses = (userId: number, purpose: CodePurpose, count: number, network?: string) =>
  Promise.all(
    Array.from({ length: count }, () =>
      codes.check(userId, purpose, '000000', now, network === undefined ? {} : from(network)),
    ),
  );

describe('wrong reset codes', () => {
  test('a network has exactly five attempts at a reset code, even with twenty concurrent guesses', async () => {
    const userId = await afterFailures(0);
    await guesses(userId, 'reset', 20, 'one');
    expect(await triesOf(userId)).toEqual({ tries: 5, byNetwork: { one: 5 } });
    expect(await codes.check(userId, 'reset', '123456', now, from('one'))).toBeUndefined();
    expect(await codes.check(userId, 'reset', '123456', now, from('other'))).toBe(`reset-${userId}`);
    expect(await triesOf(userId)).toEqual({ tries: 5, byNetwork: { one: 5, other: 0 } });
  });

  test('all networks together have exactly twenty attempts, even with thirty concurrent guesses', async () => {
    const userId = await afterFailures(0);
    const networks = Array.from({ length: 6 }, (_, index) => `network-${index}`);
    await Promise.all(networks.map((network) => guesses(userId, 'reset', 5, network)));
    const { tries, byNetwork } = await triesOf(userId);
    const all = Object.values(byNetwork as Record<string, number>);
    expect([tries, all.reduce((sum, one) => sum + one, 0)]).toEqual([20, 20]);
    expect(Math.max(...all)).toBeLessThanOrEqual(5);
    expect(await codes.check(userId, 'reset', '123456', now, from('another'))).toBeUndefined();
  });

  test('the attempts at a reset code can be configured; a deletion code always allows five', async () => {
    const configured = createCodes(connection, { perNetwork: 2, inAll: 3 });
    const userId = await afterFailures(0);
    for (const purpose of ['deletion', 'reset'] as const) {
      for (const network of ['one', 'other'])
        for (let call = 1; call <= 8; call += 1)
          await configured.check(userId, purpose, '000000', now, purpose === 'reset' ? from(network) : {});
    }
    const expected = { reset: { tries: 3, tries_by_network: { one: 2, other: 1 } }, deletion: { tries: 5 } };
    expect(await stored(userId)).toMatchObject(expected);
  });

  test('wrong reset codes lock nothing: after a hundred, the next code and the deletion code work', async () => {
    const userId = await afterFailures(99);
    await guesses(userId, 'reset', 5, 'one');
    expect(await stored(userId)).toMatchObject({ wrong_in_row: 99, reset: { tries: 5 } });
    await codes.replace(userId, 'reset', issueCode('next', '123456', now));
    expect(await codes.check(userId, 'reset', '123456', now)).toBe('next');
    expect(await codes.check(userId, 'deletion', '123456', now)).toBe(`deletion-${userId}`);
  });

  test('the lock of the deletion codes does not affect reset codes, which do not reset its count', async () => {
    const userId = await afterFailures(99);
    expect(await codes.check(userId, 'deletion', '000000', now)).toBeUndefined();
    expect(await codes.check(userId, 'reset', '123456', now)).toBe(`reset-${userId}`);
    expect(await stored(userId)).toMatchObject({ wrong_in_row: 100, locked_until: after(LOCKOUT_MS) });
  });
});

describe('the limit of a hundred consecutive failures of deletion codes', () => {
  test('after ninety-nine failures, exactly one of twenty concurrent guesses is checked', async () => {
    for (let round = 0; round < 2; round += 1) {
      const userId = await afterFailures(99);
      await guesses(userId, 'deletion', 20);
      const row = await stored(userId);
      expect(row?.deletion.tries).toBe(1);
      expect(row).toMatchObject({ wrong_in_row: 100, locked_until: after(LOCKOUT_MS) });
    }
  });

  test('the write of the hundredth failure also locks the codes, so a crash cannot prevent it', async () => {
    const userId = await afterFailures(99);
    const sent: string[] = [];
    const crashing = await mongoose
      .createConnection(config.MONGODB_URI, { dbName: config.MONGODB_DATABASE, monitorCommands: true })
      .asPromise();
    crashing.getClient().on('commandStarted', ({ commandName }) => sent.push(commandName));
    await createCodes(crashing).check(userId, 'deletion', '000000', now);
    await crashing.close();
    // No further write follows that a crash could prevent.
    const writes = ['insert', 'update', 'delete', 'findAndModify'];
    expect(sent.filter((name) => writes.includes(name)).at(-1)).toBe('findAndModify');
    expect(await stored(userId)).toMatchObject({ wrong_in_row: 100, locked_until: after(LOCKOUT_MS) });
  });

  test('a lockout rejects every code for a day, even the correct one, and then counts anew', async () => {
    const userId = await afterFailures(99);
    expect(await codes.check(userId, 'deletion', '000000', now)).toBeUndefined();
    expect(await codes.check(userId, 'deletion', '123456', now)).toBeUndefined();
    await codes.replace(userId, 'deletion', issueCode('other', '654321', now));
    expect(await codes.check(userId, 'deletion', '654321', after(MINUTE_MS))).toBeUndefined();
    const tomorrow = after(LOCKOUT_MS);
    await codes.replace(userId, 'deletion', issueCode('next', '654321', tomorrow));
    expect(await codes.check(userId, 'deletion', '000000', tomorrow)).toBeUndefined();
    expect(await stored(userId)).toMatchObject({ wrong_in_row: 1, locked_until: null });
    expect(await codes.check(userId, 'deletion', '654321', tomorrow)).toBe('next');
  });

  test('the correct code at the hundredth attempt resets the count', async () => {
    const userId = await afterFailures(99);
    expect(await codes.check(userId, 'deletion', '123456', now)).toBe(`deletion-${userId}`);
    expect(await stored(userId)).toMatchObject({
      wrong_in_row: 0,
      locked_until: null,
      deletion: { tries: 0 },
    });
  });
});
