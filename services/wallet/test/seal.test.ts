/** Every entry is sealed and published once, by any replica. */
import { systemClock, systemRandom } from '@fitness/shared/kernel/clock.ts';
import { createLog } from '@fitness/shared/kernel/log.ts';
import { GENESIS, type Seal, sealHash } from '@fitness/shared/kernel/seal.ts';
import { createOutbox } from '@fitness/shared/messaging/outbox.ts';
import { connectMongo } from '@fitness/shared/mongo/connect.ts';
import { createSequences } from '@fitness/shared/mongo/sequence.ts';
import { eventually } from '@fitness/shared/testing/harness.ts';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { createSealLedger } from '../src/app/seal-ledger.ts';
import { entryHash } from '../src/domain/seal.ts';
import type { RunningWallet } from '../src/service.ts';
import { createSeals } from '../src/store/seals.ts';
import { createStore } from '../src/store/store.ts';
import { type Harness, startHarness, together } from './support.ts';

let harness: Harness;
let replicas: RunningWallet[];

beforeAll(async () => {
  // The job does not run during the test.
  harness = await startHarness({ LEDGER_SEAL_SECONDS: 3_600 });
  replicas = [harness.wallet, await harness.replica(), await harness.replica()];
});

afterAll(() => harness.close());

const entries = () => harness.connection.collection('ledger_entries');
const allSeals = (): Promise<Seal[]> => createSeals(harness.sealConnection).after(0, 10_000);
const unsealed = () => entries().countDocuments({ seal: null });

/** Ids of the payments published with seals so far. */
const published = (): number[] =>
  harness.tap.events
    .filter(({ type }) => type === 'wallet.ledger.sealed')
    .flatMap(({ data }) => (data as { payments: { payment_id: number }[] }).payments)
    .map(({ payment_id }) => payment_id);

describe('sealing', () => {
  test('every entry is in one seal, and the seals form a chain', async () => {
    for (let round = 0; round < 3; round += 1) {
      await together(5, () => harness.fund(harness.person().userId, 5));
      expect(await harness.wallet.sealLedger()).toBe(5);
    }
    expect(await harness.wallet.sealLedger()).toBe(0);
    const seals = await allSeals();
    expect(seals.map(({ number }) => number)).toEqual([1, 2, 3]);
    expect(seals.map(({ previous }) => previous)).toEqual([GENESIS, seals[0]?.hash, seals[1]?.hash]);
    for (const seal of seals) expect(seal.hash).toBe(sealHash(seal));
    const keys = seals.flatMap(({ leaves }) => leaves.map(({ key }) => key));
    expect(new Set(keys).size).toBe(15);
    for (const seal of seals) {
      const marked = await entries().countDocuments({ seal: seal.number });
      expect(marked).toBe(5);
    }
    expect(await unsealed()).toBe(0);
  });

  test('each head is published, in the order of the chain', async () => {
    const seals = await allSeals();
    const heads = () => harness.tap.events.filter(({ type }) => type === 'wallet.ledger.sealed');
    await eventually(() => heads().length >= seals.length);
    const copies = heads().map(({ data }) => data as { number: number; hash: string; entries: number });
    expect(copies.map(({ number, hash, entries: count }) => [number, hash, count])).toEqual(
      seals.map(({ number, hash, leaves }) => [number, hash, leaves.length]),
    );
  });

  test('three replicas that seal during bookings seal and publish each entry once', async () => {
    await harness.buyer();
    await harness.wallet.sealLedger();
    const before = (await allSeals()).flatMap(({ leaves }) => leaves).length;
    const booking = together(20, () => harness.give(harness.person().userId, 7));
    const sealing = together(12, (index) => replicas[index % 3]!.sealLedger());
    const ids = await booking;
    await sealing;
    while ((await unsealed()) > 0) await harness.wallet.sealLedger();
    const leaves = (await allSeals()).flatMap((seal) => seal.leaves.map(({ key }) => key));
    expect(leaves).toHaveLength(before + 20);
    expect(new Set(leaves).size).toBe(leaves.length);
    await eventually(() => ids.every((id) => published().includes(id)));
    expect(published().filter((id) => ids.includes(id))).toHaveLength(ids.length);
    expect((await harness.audit()).difference).toBeUndefined();
  });

  test('a seal without marks after a crash is completed and published by the next round', async () => {
    const id = await harness.give(harness.person().userId, 9);
    const entry = await entries().findOne({ payment_ids: id });
    const seals = createSeals(harness.sealConnection);
    const last = await seals.newest(0);
    const body = {
      number: (last?.number ?? 0) + 1,
      previous: last?.hash ?? GENESIS,
      leaves: [{ key: String(entry?._id), hash: String(entry?.hash) }],
      sealedAt: new Date(0),
    };
    expect(await seals.append({ ...body, hash: sealHash(body) })).toBe(true);
    expect((await harness.audit()).difference).toBeUndefined();
    await together(9, (index) => replicas[index % 3]!.sealLedger());
    expect((await entries().findOne({ payment_ids: id }))?.seal).toBe(body.number);
    await eventually(() => published().includes(id));
    expect(published().filter((one) => one === id)).toHaveLength(1);
  });

  test('an entry that was changed before its seal is not sealed', async () => {
    const id = await harness.give(harness.person().userId, 11);
    const rows: object[] = (await entries().findOne({ payment_ids: id }))?.rows;
    await entries().updateOne({ payment_ids: id }, { $set: { rows: [...rows].reverse() } });
    await harness.wallet.sealLedger();
    expect((await entries().findOne({ payment_ids: id }))?.seal).toBeNull();
    await entries().updateOne({ payment_ids: id }, { $set: { rows } });
    expect(await harness.wallet.sealLedger()).toBe(1);
  });

  const sealInBatchesOf = (batch: number) => {
    const { connection } = harness;
    return createSealLedger(
      {
        store: createStore(connection, createSequences(connection), systemClock),
        seals: createSeals(harness.sealConnection),
        outbox: createOutbox({ connection, service: 'wallet', clock: systemClock, random: systemRandom }),
        clock: systemClock,
        log: createLog({ service: 'test', level: 'silent' }),
      },
      batch,
    );
  };

  test('a batch full of changed entries does not keep others from being sealed', async () => {
    const sealLedger = sealInBatchesOf(2);
    const ids = await together(5, () => harness.give(harness.person().userId, 12));
    const changed = ids.slice(0, 3);
    const reverseRows = async (): Promise<void> => {
      for (const id of changed) {
        const rows: object[] = (await entries().findOne({ payment_ids: id }))?.rows;
        await entries().updateOne({ payment_ids: id }, { $set: { rows: [...rows].reverse() } });
      }
    };
    await reverseRows();
    expect(await sealLedger()).toBe(2);
    expect(await unsealed()).toBe(3);
    await reverseRows();
    expect(await sealLedger()).toBe(3);
  });

  test('one round seals several batches', async () => {
    const sealLedger = sealInBatchesOf(5);
    const sealsBefore = (await allSeals()).length;
    await together(12, () => harness.give(harness.person().userId, 1));
    expect(await sealLedger()).toBe(12);
    expect(await unsealed()).toBe(0);
    expect((await allSeals()).slice(sealsBefore).map(({ leaves }) => leaves.length)).toEqual([5, 5, 2]);
  });

  test('the seals are stored in a separate database', async () => {
    const { MONGODB_URI, MONGODB_DATABASE } = harness.config;
    expect(harness.sealConnection.name).toBe(`${MONGODB_DATABASE}_seals`);
    const ledger = await connectMongo({
      uri: MONGODB_URI,
      database: MONGODB_DATABASE,
      log: createLog({ service: 'test', level: 'silent' }),
    });
    expect(await ledger.collection('ledger_seals').countDocuments({})).toBe(0);
    await ledger.close();
    expect(await harness.sealConnection.collection('ledger_seals').countDocuments({})).toBeGreaterThan(3);
  });
});

describe('the hash of an entry', () => {
  const at = new Date('2026-01-15T10:00:00Z');
  const entry = {
    key: 'booking:1',
    kind: 'booking' as const,
    inputHash: null,
    rows: [
      { account: 'wallet:1' as const, amount: 5 },
      { account: 'revenue' as const, amount: -5 },
    ],
    paymentIds: [1, 2],
  };

  test.each([
    ['key', { key: 'booking:2' }],
    ['kind', { kind: 'deposit' as const }],
    ['input hash', { inputHash: 'ab' }],
    ['amount', { rows: [{ account: 'wallet:1' as const, amount: 6 }, entry.rows[1]!] }],
    ['account', { rows: [{ account: 'wallet:2' as const, amount: 5 }, entry.rows[1]!] }],
    ['order of the rows', { rows: entry.rows.toReversed() }],
    ['payments', { paymentIds: [1] }],
    ['payments run together', { paymentIds: [12] }],
  ])('the hash of an entry depends on its %s', (_what, change) => {
    expect(entryHash({ ...entry, ...change }, at)).not.toBe(entryHash(entry, at));
  });

  test('the hash of an entry depends on its time, and equal entries have the same hash', () => {
    expect(entryHash(entry, new Date(at.getTime() + 1))).not.toBe(entryHash(entry, at));
    expect(entryHash(structuredClone(entry), new Date(at))).toBe(entryHash(entry, at));
  });
});
