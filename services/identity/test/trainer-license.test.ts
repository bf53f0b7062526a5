import { mediaAttached, mediaDeleted } from '@fitness/proto/events/media.ts';
import { systemClock, systemRandom } from '@fitness/shared/clock.ts';
import { createOutbox } from '@fitness/shared/events/outbox.ts';
import { inTransaction } from '@fitness/shared/mongo/transaction.ts';
import { eventually } from '@fitness/shared/testing/harness.ts';
import { afterAll, afterEach, beforeAll, describe, expect, test } from '@jest/globals';
import { join, joinAs, type Person, startWorld, type World } from './support.ts';

let world: World;
let operator: Person;
beforeAll(async () => {
  world = await startWorld();
  operator = await joinAs(world, 'operator');
});
afterAll(() => world.close());
afterEach(() => {
  world.outside.whileDeleting = undefined;
});

const licenceOf = async (person: Person) => {
  const { body } = await world.send('GET', '/auth/me', { as: person.caller });
  const { trainer_license_image: image, trainer_license_link: link } = body.user;
  const { trainer_license_approved: approved, trainer_license_rejection_reason: reason } = body.user;
  return { image, link, approved, reason };
};
const NONE = { image: null, link: null, approved: null, reason: null };
const pending = (mediaId: number) => ({
  image: `licence ${mediaId}?.pdf`,
  link: `/api/v1/media/${mediaId}/licence%20${mediaId}%3F.pdf`,
  approved: null,
  reason: null,
});
const attach = (userId: number, mediaId: number) =>
  world.identity.call('AttachLicense', {
    user_id: userId,
    media_id: mediaId,
    filename: `licence ${mediaId}?.pdf`,
  });
const review = (person: Person, body: Record<string, unknown>) =>
  world.send('PUT', `/users/${person.id}`, { as: operator.caller, body });
const clear = (person: Person) =>
  world.send('PUT', '/auth/me', { as: person.caller, body: { trainer_license_image: null } });

const row = (userId: number, mediaId: number, change: Record<string, unknown> = {}) => ({
  media_id: mediaId,
  attachable_type: 'App\\Models\\User',
  attachable_id: userId,
  purpose: 'trainer_license' as string | null,
  filename: `licence ${mediaId}?.pdf`,
  ...change,
});

/** Tells as media would: after this, the events of `work` are on their way in this order. */
const tell = async (definition: typeof mediaAttached, data: ReturnType<typeof row>): Promise<void> => {
  const outbox = createOutbox({
    connection: world.database,
    service: 'media',
    clock: systemClock,
    random: systemRandom,
  });
  const aggregateVersion = definition === mediaAttached ? 1 : 2;
  await inTransaction(world.database, (session) =>
    outbox.emit(session, definition, { subject: data.media_id, aggregateVersion, data }),
  );
};

/** Waits until everything that was told was taken: each taken event leaves a row in the inbox. */
const heard = async (work: () => Promise<void>, events: number): Promise<void> => {
  const inbox = world.database.collection('inbox');
  const before = await inbox.countDocuments({});
  await work();
  await eventually(async () => (await inbox.countDocuments({})) >= before + events);
};

describe('a document that media tells of', () => {
  test('is the licence at once, with a link to its download and an open review', async () => {
    const person = await join(world);
    expect(await attach(person.id, 10)).toEqual({ current: true });
    expect(await licenceOf(person)).toEqual(pending(10));
  });

  test('resets the review of the one before', async () => {
    const person = await join(world);
    await attach(person.id, 20);
    await review(person, { trainer_license_approved: false, trainer_license_rejection_reason: 'blurred' });
    expect(await licenceOf(person)).toMatchObject({ approved: false, reason: 'blurred' });
    await attach(person.id, 21);
    expect(await licenceOf(person)).toEqual(pending(21));
  });

  test('told again after its review, it stays reviewed', async () => {
    const person = await join(world);
    await attach(person.id, 30);
    await review(person, { trainer_license_approved: true });
    expect(await attach(person.id, 30)).toEqual({ current: true });
    await heard(() => tell(mediaAttached, row(person.id, 30)), 1);
    expect(await licenceOf(person)).toEqual({ ...pending(30), approved: true });
  });

  test('older than the one that is there, it changes nothing', async () => {
    const person = await join(world);
    await attach(person.id, 41);
    expect(await attach(person.id, 40)).toEqual({ current: false });
    expect(await licenceOf(person)).toEqual(pending(41));
  });

  test('twenty at once: the one with the largest id stands', async () => {
    const person = await join(world);
    await Promise.all(Array.from({ length: 20 }, (_, index) => attach(person.id, 101 + index)));
    expect(await licenceOf(person)).toEqual(pending(120));
  });

  test('of nobody: not found; a broken request is refused', async () => {
    await expect(attach(987_654_321, 1)).rejects.toMatchObject({ kind: 'not_found' });
    await expect(attach(operator.id, 0)).rejects.toMatchObject({ kind: 'validation' });
    await expect(
      world.identity.call('AttachLicense', { user_id: operator.id, media_id: 5, filename: '' }),
    ).rejects.toMatchObject({ kind: 'validation' });
  });
});

describe('an event of media', () => {
  test('brings the document when the call was lost', async () => {
    const person = await join(world);
    await tell(mediaAttached, row(person.id, 200));
    await eventually(async () => (await licenceOf(person)).image !== null);
    expect(await licenceOf(person)).toEqual(pending(200));
  });

  test('about something else than a trainer licence changes nothing', async () => {
    const person = await join(world);
    await attach(person.id, 210);
    await heard(async () => {
      await tell(mediaAttached, row(person.id, 211, { purpose: null }));
      await tell(
        mediaAttached,
        row(person.id, 212, { purpose: 'gym_license', attachable_type: 'App\\Models\\Gyms\\Gym' }),
      );
      await tell(mediaDeleted, row(person.id, 210, { purpose: null }));
    }, 3);
    expect(await licenceOf(person)).toEqual(pending(210));
  });

  test('of a deletion takes the licence with its review, and it does not come back', async () => {
    const person = await join(world);
    await attach(person.id, 220);
    await review(person, { trainer_license_approved: true });
    await heard(() => tell(mediaDeleted, row(person.id, 220)), 1);
    expect(await licenceOf(person)).toEqual(NONE);
    expect(await attach(person.id, 220)).toEqual({ current: false });
    expect(await licenceOf(person)).toEqual(NONE);
  });

  test('of the deletion of another document leaves this one', async () => {
    const person = await join(world);
    await attach(person.id, 231);
    await heard(() => tell(mediaDeleted, row(person.id, 230)), 1);
    expect(await licenceOf(person)).toEqual(pending(231));
  });

  test('of a deletion that overtakes its upload: the document never appears', async () => {
    const person = await join(world);
    await heard(() => tell(mediaDeleted, row(person.id, 240)), 1);
    await heard(() => tell(mediaAttached, row(person.id, 240)), 1);
    expect(await licenceOf(person)).toEqual(NONE);
  });

  test('about an account that is not there is taken and forgotten', async () => {
    await heard(async () => {
      await tell(mediaAttached, row(987_654_321, 250));
      await tell(mediaDeleted, row(987_654_321, 250));
    }, 2);
  });
});

describe('clearing', () => {
  test('deletes that very document and none that is newer, by its holder and by an operator', async () => {
    const [holder, other] = [await join(world), await join(world)];
    await attach(holder.id, 300);
    await attach(other.id, 301);
    expect((await clear(holder)).status).toBe(200);
    expect((await review(other, { trainer_license_image: null })).status).toBe(200);
    expect(await licenceOf(holder)).toEqual(NONE);
    expect(await licenceOf(other)).toEqual(NONE);
    expect(world.outside.licenceDeletions).toEqual(
      expect.arrayContaining([
        { userId: holder.id, upTo: 300 },
        { userId: other.id, upTo: 301 },
      ]),
    );
    expect(await attach(holder.id, 300)).toEqual({ current: false });
    expect(await attach(holder.id, 302)).toEqual({ current: true });
  });

  test.each([
    ['its holder', (person: Person) => clear(person)],
    ['an operator', (person: Person) => review(person, { trainer_license_image: null })],
  ])('by %s leaves a document that arrives meanwhile', async (_who, clearing) => {
    const person = await join(world);
    await attach(person.id, 310);
    world.outside.whileDeleting = async () => {
      await attach(person.id, 311);
    };
    expect((await clearing(person)).body.user.trainer_license_image).toBe('licence 311?.pdf');
    expect(await licenceOf(person)).toEqual(pending(311));
  });

  test('changes nothing when media does not delete: 503', async () => {
    const person = await join(world);
    await attach(person.id, 320);
    world.outside.whileDeleting = async () => {
      throw new Error('out of order');
    };
    expect((await clear(person)).status).toBe(503);
    expect(await licenceOf(person)).toEqual(pending(320));
  });
});
