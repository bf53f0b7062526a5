/** In-app notifications: from events, once each, read by their owner in his language of the moment. */
import { randomUUID } from 'node:crypto';
import { gymLicenseReviewed } from '@fitness/proto/events/gyms.ts';
import { type Broker, connectBroker } from '@fitness/shared/events/broker.ts';
import { createLog } from '@fitness/shared/log.ts';
import { eventually } from '@fitness/shared/testing/harness.ts';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { join, joinAs, type Person, startWorld, type World } from './support.ts';

let world: World;
let broker: Broker;
let operator: Person;
beforeAll(async () => {
  world = await startWorld();
  operator = await joinAs(world, 'operator');
  broker = await connectBroker({
    url: world.config.AMQP_URL,
    namespace: world.config.EVENTS_NAMESPACE,
    log: createLog({ service: 'test', level: 'silent' }),
  });
});
afterAll(async () => {
  await broker.close();
  await world.close();
});

const list = (person: Person, query = '', language = 'en') =>
  world.send('GET', `/notifications${query}`, {
    as: person.caller,
    headers: { 'accept-language': language },
  });

const review = (
  owner: Person,
  verdict: { approved: boolean; rejection_reason?: string | null },
  id = randomUUID(),
): Promise<unknown> => {
  const event = {
    specversion: '1.0',
    id,
    source: '/services/gyms',
    type: gymLicenseReviewed.type,
    subject: '7',
    time: '2026-01-15T10:00:00.000Z',
    datacontenttype: 'application/json',
    aggregateversion: 1,
    data: {
      gym_id: 7,
      gym_name: 'Alborz {reason} $t(x)',
      owner_user_id: owner.id,
      rejection_reason: null,
      ...verdict,
    },
  };
  return broker.publish(broker.eventsExchange, event.type, Buffer.from(JSON.stringify(event)));
};

const until = (person: Person, count: number) =>
  eventually(async () => {
    const answer = await list(person);
    // The page and its total are two reads.
    const { data, meta } = answer.body;
    return data.length >= count && meta.total >= count && answer;
  });

describe('a gym licence review', () => {
  test('is told to the owner as of then, in the language in which he reads it', async () => {
    const owner = await join(world);
    await review(owner, { approved: false, rejection_reason: 'The stamp is missing.' });
    await until(owner, 1);
    const english = await list(owner, '', 'en');
    expect(english.body.data).toEqual([
      {
        id: expect.any(Number),
        type: 'gym_license_reviewed',
        title: 'Gym licence rejected',
        body: 'The licence of Alborz {reason} $t(x) was rejected. The stamp is missing.',
        data: {
          gym_id: 7,
          gym_name: 'Alborz {reason} $t(x)',
          approved: false,
          reason: 'The stamp is missing.',
        },
        read_at: null,
        created_at: '2026-01-15 10:00:00',
      },
    ]);
    const persian = await list(owner, '', 'fa-IR,en;q=0.5');
    expect(persian.headers.get('content-language')).toBe('fa');
    expect(persian.body.data[0]).toMatchObject({
      id: english.body.data[0].id,
      title: 'مجوز باشگاه رد شد',
      body: 'مجوز Alborz {reason} $t(x) رد شد. The stamp is missing.',
    });
  });

  test('that is delivered again, also twenty times at once, stands there once', async () => {
    const owner = await join(world);
    const id = randomUUID();
    await Promise.all(Array.from({ length: 20 }, () => review(owner, { approved: true }, id)));
    await review(owner, { approved: false });
    // Events of one gym are handled one after the other: with the last one the others are done.
    const { body } = await until(owner, 2);
    expect((await list(owner)).body.meta.total).toBe(2);
    expect(body.meta.unread_count).toBe(2);
  });
});

describe('a trainer licence review', () => {
  test('is told at once, with its reason, when the operator is answered', async () => {
    const trainer = await join(world);
    await world.identity.call('AttachLicense', { user_id: trainer.id, media_id: 5, filename: 'a.pdf' });
    await world.send('PUT', `/users/${trainer.id}`, {
      as: operator.caller,
      body: { trainer_license_approved: false, trainer_license_rejection_reason: 'Unreadable.' },
    });
    const { body } = await list(trainer);
    expect(body.data).toMatchObject([
      {
        type: 'trainer_license_reviewed',
        title: 'Trainer licence rejected',
        body: 'Your trainer licence was rejected. Unreadable.',
        data: { approved: false, reason: 'Unreadable.' },
      },
    ]);
  });
});

describe('the list', () => {
  test('is newest first, by page and by cursor, and counts what is unread of all', async () => {
    const owner = await join(world);
    for (let index = 0; index < 5; index += 1) {
      await review(owner, { approved: index % 2 === 0 });
      await until(owner, index + 1);
    }
    const whole = (await list(owner)).body;
    const ids: number[] = whole.data.map((row: { id: number }) => row.id);
    expect(ids).toEqual(ids.toSorted((a, b) => b - a));
    const second = (await list(owner, '?page=2&per_page=2')).body;
    expect(second.data.map((row: { id: number }) => row.id)).toEqual(ids.slice(2, 4));
    expect(second.meta).toMatchObject({ total: 5, last_page: 3, current_page: 2, unread_count: 5 });
    const first = (await list(owner, '?per_page=3')).body;
    const rest = (await list(owner, `?per_page=3&cursor=${first.meta.next_cursor}`)).body;
    expect(rest.data.map((row: { id: number }) => row.id)).toEqual(ids.slice(3));
    expect(rest.meta).toMatchObject({ next_cursor: null, unread_count: 5 });

    const read = () => world.send('POST', `/notifications/${ids[1]}/read`, { as: owner.caller });
    const once = await read();
    world.clock.advance(60_000);
    const twice = await read();
    expect([once.status, twice.body.data.read_at]).toEqual([200, once.body.data.read_at]);
    expect((await list(owner, '?per_page=1')).body.meta.unread_count).toBe(4);
  });

  test('and reading are for their owner alone', async () => {
    const [owner, stranger] = [await join(world), await join(world)];
    await review(owner, { approved: true });
    const { body } = await until(owner, 1);
    const { id } = body.data[0];
    expect((await list(stranger)).body.data).toEqual([]);
    const read = (as?: Person, path = `/notifications/${id}/read`) =>
      world.send('POST', path, as === undefined ? {} : { as: as.caller });
    expect((await read()).status).toBe(401);
    expect((await read(stranger)).status).toBe(404);
    expect((await read(operator)).status).toBe(404);
    expect((await read(owner, '/notifications/0/read')).status).toBe(404);
    expect((await world.send('GET', '/notifications')).status).toBe(401);
    expect((await list(owner)).body.meta.unread_count).toBe(1);
  });
});
