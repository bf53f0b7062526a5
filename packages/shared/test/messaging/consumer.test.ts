import { afterAll, afterEach, describe, expect, test } from '@jest/globals';
import { systemClock, systemRandom } from '../../src/kernel/clock.ts';
import { TryAgainLater } from '../../src/kernel/outage.ts';
import { type EventConsumer, onEvent } from '../../src/messaging/consumer.ts';
import { createDeadLetters } from '../../src/messaging/dead-letter.ts';
import { handleOnce } from '../../src/messaging/inbox.ts';
import { registerEventModels } from '../../src/messaging/models.ts';
import { startConsumers } from '../../src/messaging/start-consumers.ts';
import { consumerQueue } from '../../src/messaging/topology.ts';
import { ManualClock } from '../../src/testing/manual-clock.ts';
import {
  cutConnection,
  effectsOf,
  log,
  openConsumers,
  orderPlaced,
  orderShipped,
  pause,
  publishBeforeCut,
  publishEvent,
  until,
} from './support.ts';

const {
  connection,
  broker,
  outcomes,
  consume,
  stop,
  reset,
  close,
  effects,
  orderConsumer,
  record,
  recorder,
} = await openConsumers({ retryDelaysMs: [50, 100] });

afterEach(reset);
afterAll(() => close());

describe('delivery', () => {
  test('a redelivered event has one effect', async () => {
    await consume('once', [recorder('once')]);
    const id = await publishEvent(broker);
    await publishEvent(broker, { id });
    await publishEvent(broker, { id });
    await until(() => outcomes.length === 3);
    expect(await effects('once')).toBe(1);
    expect(outcomes.toSorted()).toEqual(['done', 'duplicate', 'duplicate']);
  });

  test('two consumers of one event each handle it once, and a failing one is retried alone', async () => {
    let failures = 0;
    const flaky = orderConsumer('flaky', async (event, context) => {
      failures += 1;
      if (failures <= 2) throw new Error('not yet');
      await record('flaky')(event, context);
    });
    await consume('pair', [recorder('steady'), flaky]);
    await publishEvent(broker);
    await until(async () => (await effects('flaky')) === 1);
    expect(await effects('steady')).toBe(1);
    // An outcome is reported after its commit.
    await until(async () => outcomes.length >= 4);
    expect(outcomes.toSorted()).toEqual(['done', 'done', 'retried', 'retried']);
  });

  test('the effect and its inbox document commit together, and afterCommit runs after the commit', async () => {
    let committed = 0;
    let tries = 0;
    const consumer = orderConsumer('atomic', async (event, context) => {
      context.afterCommit(() => {
        committed += 1;
      });
      await record('atomic')(event, context);
      tries += 1;
      if (tries === 1) throw new Error('after the effect');
    });
    await consume('atomic', [consumer]);
    const eventId = await publishEvent(broker);
    await until(() => committed === 1);
    expect(await effects('atomic')).toBe(1);
    expect(tries).toBe(2);
    const inbox = registerEventModels(connection).inbox;
    expect(await inbox.countDocuments({ consumer: 'atomic', eventId })).toBe(1);
  });

  test('work in steps is recorded with the last step, and a redelivery continues after a failed step', async () => {
    const inbox = registerEventModels(connection).inbox;
    const recorded: number[] = [];
    let failures = 0;
    const consumer = orderConsumer('steps', async (event, context) => {
      // Only committed steps: the record of this one is not visible outside its transaction.
      recorded.push(await inbox.countDocuments({ consumer: 'steps', eventId: event.id }));
      const done = await effects('steps');
      if (done === 2 && failures === 0) {
        failures += 1;
        throw new Error('in the third step');
      }
      await record('steps')(event, context);
      return done < 3 ? 'more' : 'done';
    });
    await consume('steps', [consumer]);
    const eventId = await publishEvent(broker);
    await until(() => outcomes.includes('done'));
    expect(outcomes).toEqual(['retried', 'done']);
    expect(await effects('steps')).toBe(4);
    expect(recorded).toEqual([0, 0, 0, 0, 0]);
    expect(await inbox.countDocuments({ consumer: 'steps', eventId })).toBe(1);
    await publishEvent(broker, { id: eventId });
    await until(() => outcomes.includes('duplicate'));
    expect(await effects('steps')).toBe(4);
  });

  test('each step has one effect in two concurrent deliveries', async () => {
    const inTwo = orderConsumer('twice', async (event, context) => {
      const done = await effectsOf(connection).countDocuments({ consumer: 'twice' }).session(context.session);
      await record('twice')(event, context);
      return done === 0 ? 'more' : 'done';
    });
    const event = {
      ...{ id: systemRandom.uuid(), type: orderPlaced.type, source: '/services/shop', subject: '1' },
      ...{ time: systemClock.now(), aggregateVersion: 1, data: { order_id: 1 } },
    };
    await Promise.all([1, 2, 3].map(() => handleOnce(connection, inTwo, event, log)));
    expect(await effects('twice')).toBe(2);
  });

  test('events of one aggregate are handled in order, one at a time', async () => {
    const seen: number[] = [];
    let active = 0;
    let mostActive = 0;
    const consumer = onEvent(orderPlaced, async (event) => {
      active += 1;
      mostActive = Math.max(mostActive, active);
      await pause(2);
      seen.push(event.aggregateVersion);
      active -= 1;
    });
    await consume('keyed', [consumer]);
    const versions = Array.from({ length: 15 }, (_, index) => index + 1);
    for (const version of versions) await publishEvent(broker, { subject: 'one', version });
    await until(() => seen.length === 15);
    expect(seen).toEqual(versions);
    expect(mostActive).toBe(1);
  });

  test('an event is redelivered after a lost connection, with one effect', async () => {
    let started = 0;
    const consumer = orderConsumer('cut', async (event, context) => {
      started += 1;
      if (started === 1) await cutConnection(broker);
      await record('cut')(event, context);
    });
    await consume('cut', [consumer]);
    await publishBeforeCut(broker);
    await until(() => outcomes.includes('duplicate'));
    expect(await effects('cut')).toBe(1);
    await publishEvent(broker);
    await until(async () => (await effects('cut')) === 2);
  });

  test('two consumers with the same name are refused', async () => {
    const consumers = [recorder('same'), recorder('same')];
    await expect(startConsumers({ connection, broker, service: 'same', consumers, log })).rejects.toThrow(
      'same',
    );
  });
});

describe('failure', () => {
  const poison = (service: string): EventConsumer =>
    orderConsumer(service, async (event, context) => {
      if (event.data.note === 'poison') throw new Error('cannot swallow this');
      await record(service)(event, context);
    });

  test('a poison message does not block later ones, and is dead-lettered after its tries', async () => {
    const clock = new ManualClock('2026-02-01T08:00:00Z');
    await consume('poisoned', [poison('poisoned')], clock);
    const id = await publishEvent(broker, { data: { order_id: 1, note: 'poison' } });
    for (let order = 2; order <= 40; order += 1) await publishEvent(broker, { subject: String(order) });
    await until(async () => (await effects('poisoned')) === 39);
    await until(() => outcomes.includes('dead'));
    expect(outcomes.filter((outcome) => outcome === 'retried')).toHaveLength(2);
    expect(await createDeadLetters(broker).list('poisoned')).toEqual([
      {
        id,
        type: orderPlaced.type,
        subject: '1',
        consumer: 'poisoned',
        attempts: 3,
        error: 'Error: cannot swallow this',
        firstFailure: '2026-02-01T08:00:00.000Z',
      },
    ]);
  });

  test('a dead letter is replayed to the consumer that failed, and to no other', async () => {
    let broken = true;
    const mended = orderConsumer('mended', async (event, context) => {
      if (broken) throw new Error('broken');
      await record('mended')(event, context);
    });
    await consume('replay', [mended, recorder('bystander')]);
    const first = await publishEvent(broker, { subject: 'a' });
    await publishEvent(broker, { subject: 'b' });
    const letters = createDeadLetters(broker);
    await until(async () => (await letters.list('replay')).length === 2);
    broken = false;
    expect(await letters.replay('replay', { id: systemRandom.uuid() })).toBe(0);
    expect(await letters.replay('replay', { id: first })).toBe(1);
    await until(async () => (await effects('mended')) === 1);
    expect(await letters.replay('replay')).toBe(1);
    await until(async () => (await effects('mended')) === 2);
    expect(await letters.list('replay')).toEqual([]);
    expect(await effects('bystander')).toBe(2);
    expect(outcomes.filter((outcome) => outcome === 'duplicate')).toEqual([]);
  });

  test('dead letters survive repeated listing, and purge deletes one or all', async () => {
    await consume('purged', [poison('purged')]);
    const ids: string[] = [];
    for (const subject of ['a', 'b', 'c']) {
      ids.push(await publishEvent(broker, { subject, data: { order_id: 1, note: 'poison' } }));
    }
    const letters = createDeadLetters(broker);
    await until(async () => (await letters.list('purged')).length === 3);
    for (let time = 0; time < 5; time += 1) expect(await letters.list('purged')).toHaveLength(3);
    expect(await letters.purge('purged', { id: ids[1] })).toBe(1);
    const left = (await letters.list('purged')).map(({ id }) => id);
    expect(new Set(left)).toEqual(new Set([ids[0], ids[2]]));
    expect(await letters.purge('purged')).toBe(2);
    expect(await letters.list('purged')).toEqual([]);
  });

  test.each([
    ['is not JSON', Buffer.from('{'), 'not JSON'],
    ['is not an event', Buffer.from('{"id":"x"}'), 'not an event'],
  ])('a message that %s is dead-lettered at once', async (_case, content, error) => {
    const service = `malformed-${error.replace(' ', '-').toLowerCase()}`;
    await consume(service, [recorder(service)]);
    await broker.publish(broker.eventsExchange, orderPlaced.type, content);
    const letters = createDeadLetters(broker);
    await until(async () => (await letters.list(service)).length === 1);
    expect(await letters.list(service)).toMatchObject([
      { type: orderPlaced.type, attempts: 1, error: expect.stringContaining(error) },
    ]);
    expect(outcomes).toEqual(['dead']);
  });

  test('data that does not fit is dead-lettered at once; the error names the field without its value', async () => {
    await consume('unfit', [recorder('unfit')]);
    await publishEvent(broker, { data: { order_id: 'secret value' } });
    const letters = createDeadLetters(broker);
    await until(async () => (await letters.list('unfit')).length === 1);
    const [letter] = await letters.list('unfit');
    expect(letter).toMatchObject({
      consumer: 'unfit',
      attempts: 1,
      error: expect.stringContaining('order_id'),
    });
    expect(letter?.error).not.toContain('secret value');
  });

  test('an event of a consumer that this process does not have stays in its queue', async () => {
    await consume('leaving', [recorder('stays'), onEvent(orderShipped, async () => undefined)]);
    await stop();
    await consume('leaving', [recorder('stays')]);
    await publishEvent(broker, { type: orderShipped.type });
    await publishEvent(broker);
    await until(async () => (await effects('stays')) === 1);
    const queue = consumerQueue(broker.namespace, 'leaving', orderShipped.type);
    const { messageCount } = await broker.withChannel((channel) => channel.checkQueue(queue));
    expect([messageCount, outcomes]).toEqual([1, ['done']]);
  });

  test('an event is not retried before the wait that a provider asks for, even if no delay is as long', async () => {
    const triedAt: number[] = [];
    const consumer = orderConsumer('waiting', async (event, context) => {
      triedAt.push(Date.now());
      if (triedAt.length === 1) throw new TryAgainLater('too many', 450);
      if (triedAt.length === 2) throw new Error('not yet');
      await record('waiting')(event, context);
    });
    await consume('waiting', [consumer]);
    await publishEvent(broker);
    await until(async () => (await effects('waiting')) === 1);
    await until(async () => outcomes.length >= 3);
    const [first = 0, second = 0] = triedAt;
    expect(second - first).toBeGreaterThanOrEqual(450);
    // The deliveries in between are not tries: one more try would be the last.
    expect(outcomes).toEqual(['retried', 'retried', 'done']);
  });

  test('attempts while the database is unavailable are not counted', async () => {
    let tries = 0;
    const consumer = orderConsumer('outage', async (event, context) => {
      tries += 1;
      if (tries <= 6) throw Object.assign(new Error('no primary'), { name: 'MongoServerSelectionError' });
      await record('outage')(event, context);
    });
    await consume('outage', [consumer]);
    await publishEvent(broker);
    await until(async () => (await effects('outage')) === 1);
    await until(async () => outcomes.length >= 7);
    expect(outcomes).toEqual([...Array.from({ length: 6 }, () => 'retried'), 'done']);
  });
});
