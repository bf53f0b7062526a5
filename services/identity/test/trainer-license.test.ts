import { mediaAttached, mediaDeleted } from '@fitness/proto/events/media.ts';
import { caller, eventually } from '@fitness/shared/testing/harness.ts';
import { afterAll, afterEach, beforeAll, describe, expect, test } from '@jest/globals';
import { openPublisher, type Publisher } from './events.ts';
import { type Harness, join, joinAs, type Person, startHarness } from './support.ts';

let harness: Harness;
let publisher: Publisher;
let operator: Person;
beforeAll(async () => {
  harness = await startHarness();
  publisher = await openPublisher(harness);
  operator = await joinAs(harness, 'operator');
});
afterAll(async () => {
  await publisher.close();
  await harness.close();
});
afterEach(() => {
  harness.standIns.whileDeleting = undefined;
});

const licenseOf = async (person: Person) => {
  const { body } = await harness.send('GET', '/auth/me', { as: person.caller });
  const { trainer_license_image: image, trainer_license_link: link } = body.user;
  const { trainer_license_approved: approved, trainer_license_rejection_reason: reason } = body.user;
  return { image, link, approved, reason };
};
const NONE = { image: null, link: null, approved: null, reason: null };
const pending = (mediaId: number) => ({
  image: `license ${mediaId}?.pdf`,
  link: `/api/v1/media/${mediaId}/license%20${mediaId}%3F.pdf`,
  approved: null,
  reason: null,
});
const attach = (userId: number, mediaId: number) =>
  harness.identity.call('AttachLicense', {
    user_id: userId,
    media_id: mediaId,
    filename: `license ${mediaId}?.pdf`,
  });
const review = (person: Person, body: Record<string, unknown>) =>
  harness.send('PUT', `/users/${person.id}`, { as: operator.caller, body });
const clear = (person: Person) =>
  harness.send('PUT', '/auth/me', { as: person.caller, body: { trainer_license_image: null } });

const row = (userId: number, mediaId: number, change: Record<string, unknown> = {}) => ({
  media_id: mediaId,
  attachable_type: 'App\\Models\\User',
  attachable_id: userId,
  purpose: 'trainer_license' as string | null,
  filename: `license ${mediaId}?.pdf`,
  ...change,
});

const publish = (definition: typeof mediaAttached, data: ReturnType<typeof row>): Promise<void> =>
  publisher.publish(definition, data, {
    subject: String(data.media_id),
    aggregateVersion: definition === mediaAttached ? 1 : 2,
  });

/** Runs `work` and waits until the service has consumed this many more events. */
const untilConsumed = async (work: () => Promise<void>, events: number): Promise<void> => {
  const inbox = harness.database.collection('inbox');
  const before = await inbox.countDocuments({});
  await work();
  await eventually(async () => (await inbox.countDocuments({})) >= before + events);
};

describe('a document reported by media', () => {
  test('a reported document is attached immediately, with a link and a pending review', async () => {
    const person = await join(harness);
    expect(await attach(person.id, 10)).toEqual({ current: true });
    expect(await licenseOf(person)).toEqual(pending(10));
  });

  test('a new document resets the review of the previous one', async () => {
    const person = await join(harness);
    await attach(person.id, 20);
    await review(person, { trainer_license_approved: false, trainer_license_rejection_reason: 'blurred' });
    expect(await licenseOf(person)).toMatchObject({ approved: false, reason: 'blurred' });
    await attach(person.id, 21);
    expect(await licenseOf(person)).toEqual(pending(21));
  });

  test('a document that is reported again keeps its review', async () => {
    const person = await join(harness);
    await attach(person.id, 30);
    await review(person, { trainer_license_approved: true });
    expect(await attach(person.id, 30)).toEqual({ current: true });
    await untilConsumed(() => publish(mediaAttached, row(person.id, 30)), 1);
    expect(await licenseOf(person)).toEqual({ ...pending(30), approved: true });
  });

  test('a document that is older than the attached one changes nothing', async () => {
    const person = await join(harness);
    await attach(person.id, 41);
    expect(await attach(person.id, 40)).toEqual({ current: false });
    expect(await licenseOf(person)).toEqual(pending(41));
  });

  test('the document with the largest id wins among twenty concurrent ones', async () => {
    const person = await join(harness);
    await Promise.all(Array.from({ length: 20 }, (_, index) => attach(person.id, 101 + index)));
    expect(await licenseOf(person)).toEqual(pending(120));
  });

  test('attaching to an unknown account returns not found, and an invalid request is refused', async () => {
    await expect(attach(987_654_321, 1)).rejects.toMatchObject({ kind: 'not_found' });
    await expect(attach(operator.id, 0)).rejects.toMatchObject({ kind: 'validation' });
    await expect(
      harness.identity.call('AttachLicense', { user_id: operator.id, media_id: 5, filename: '' }),
    ).rejects.toMatchObject({ kind: 'validation' });
  });
});

test('a reason sent with an approval is refused only if no other error applies', async () => {
  const person = await join(harness);
  const administrator = await joinAs(harness, 'administrator');
  const body = { trainer_license_approved: true, trainer_license_rejection_reason: 'No' };
  const put = async (id: number, more: object = {}) =>
    (await harness.send('PUT', `/users/${id}`, { as: operator.caller, body: { ...body, ...more } })).status;
  expect(await put(999_999_999)).toBe(404);
  expect(await put(administrator.id)).toBe(403);
  expect(await put(person.id, { trainer_license_media_id: 9 })).toBe(409);
  expect(await put(person.id)).toBe(422);
});

test('a review that names its document never applies to a concurrent replacement', async () => {
  for (let round = 0; round < 2; round += 1) {
    const person = await join(harness);
    const first = 5_000 + round * 10;
    await attach(person.id, first);
    const named = { trainer_license_approved: true, trainer_license_media_id: first };
    const answers = await Promise.all([
      ...Array.from({ length: 5 }, () => review(person, named)),
      attach(person.id, first + 1).then(() => undefined),
    ]);
    const statuses = answers.flatMap((answer) => answer?.status ?? []);
    expect(statuses.filter((status) => status !== 200 && status !== 409)).toEqual([]);
    expect(await licenseOf(person)).toEqual(pending(first + 1));
    expect((await review(person, named)).status).toBe(409);
  }
});

describe('media events', () => {
  test('an upload event attaches the document if the call was lost', async () => {
    const person = await join(harness);
    await publish(mediaAttached, row(person.id, 200));
    await eventually(async () => (await licenseOf(person)).image !== null);
    expect(await licenseOf(person)).toEqual(pending(200));
  });

  test('an event about another kind of file changes nothing', async () => {
    const person = await join(harness);
    await attach(person.id, 210);
    await untilConsumed(async () => {
      await publish(mediaAttached, row(person.id, 211, { purpose: null }));
      await publish(
        mediaAttached,
        row(person.id, 212, { purpose: 'gym_license', attachable_type: 'App\\Models\\Gyms\\Gym' }),
      );
      await publish(mediaDeleted, row(person.id, 210, { purpose: null }));
    }, 3);
    expect(await licenseOf(person)).toEqual(pending(210));
  });

  test('a deletion event removes the document and its review for good', async () => {
    const person = await join(harness);
    await attach(person.id, 220);
    await review(person, { trainer_license_approved: true });
    await untilConsumed(() => publish(mediaDeleted, row(person.id, 220)), 1);
    expect(await licenseOf(person)).toEqual(NONE);
    expect(await attach(person.id, 220)).toEqual({ current: false });
    expect(await licenseOf(person)).toEqual(NONE);
  });

  test('a deletion by an operator notifies the trainer, and one by the trainer does not', async () => {
    const notificationsOf = async (person: Person) =>
      (await harness.send('GET', '/notifications', { as: person.caller })).body.data;
    const [person, own] = [await join(harness), await join(harness)];
    await attach(person.id, 225);
    await attach(own.id, 226);
    await untilConsumed(async () => {
      await publish(mediaDeleted, row(own.id, 226));
      // An event about a document that is no longer the license.
      await publish(mediaDeleted, row(person.id, 224, { by_operator: true }));
      await publish(mediaDeleted, row(person.id, 225, { by_operator: true }));
    }, 3);
    expect(await notificationsOf(person)).toMatchObject([
      { type: 'trainer_license_reviewed', data: { approved: null, reason: '', removed: true } },
    ]);
    expect(await notificationsOf(own)).toEqual([]);
  });

  test('the deletion of an older document changes nothing, and that of a newer one removes it', async () => {
    const person = await join(harness);
    await attach(person.id, 231);
    await untilConsumed(() => publish(mediaDeleted, row(person.id, 230)), 1);
    expect(await licenseOf(person)).toEqual(pending(231));
    // The newer document had already replaced it in media.
    await untilConsumed(() => publish(mediaDeleted, row(person.id, 232)), 1);
    expect(await licenseOf(person)).toEqual(NONE);
    expect(await attach(person.id, 232)).toEqual({ current: false });
  });

  test('a deletion that arrives before the upload prevents the document from being attached', async () => {
    const person = await join(harness);
    await untilConsumed(() => publish(mediaDeleted, row(person.id, 240)), 1);
    await untilConsumed(() => publish(mediaAttached, row(person.id, 240)), 1);
    expect(await licenseOf(person)).toEqual(NONE);
  });

  test.each([
    ['the document that was committed last', false],
    ['no document if the last one was deleted', true],
  ])('calls and events in any order leave %s', async (_name, isDeleted) => {
    /** Media assigns larger ids to later commits. */
    const [first, second, last] = [2_001, 2_005, 2_006];
    const call = (mediaId: number) => (userId: number) => attach(userId, mediaId);
    const event = (definition: typeof mediaAttached, mediaId: number) => (userId: number) =>
      untilConsumed(() => publish(definition, row(userId, mediaId)), 1);
    const reports = [
      ...[first, second, last].flatMap((mediaId) => [call(mediaId), event(mediaAttached, mediaId)]),
      ...[first, second, ...(isDeleted ? [last] : [])].map((mediaId) => event(mediaDeleted, mediaId)),
    ];
    const orders = reports.flatMap((_, start) => {
      const order = [...reports.slice(start), ...reports.slice(0, start)];
      return [order, order.toReversed()];
    });
    for (const order of orders) {
      const person = await join(harness);
      for (const report of order) await report(person.id);
      expect(await licenseOf(person)).toEqual(isDeleted ? NONE : pending(last));
    }
  });

  test('an event about an unknown account is consumed without effect', async () => {
    await untilConsumed(async () => {
      await publish(mediaAttached, row(987_654_321, 250));
      await publish(mediaDeleted, row(987_654_321, 250));
    }, 2);
  });
});

describe('clearing the document', () => {
  test('clearing a document deletes it, but no newer one', async () => {
    const [holder, other] = [await join(harness), await join(harness)];
    await attach(holder.id, 300);
    await attach(other.id, 301);
    expect((await clear(holder)).status).toBe(200);
    expect((await review(other, { trainer_license_image: null })).status).toBe(200);
    expect(await licenseOf(holder)).toEqual(NONE);
    expect(await licenseOf(other)).toEqual(NONE);
    expect(harness.standIns.licenseDeletions).toEqual(
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
  ])('a document that arrives while %s clears the previous one is kept', async (_who, clearing) => {
    const person = await join(harness);
    await attach(person.id, 310);
    harness.standIns.whileDeleting = async () => {
      await attach(person.id, 311);
    };
    expect((await clearing(person)).status).toBe(200);
    await eventually(async () => (await licenseOf(person)).image !== null);
    expect(harness.standIns.licenseDeletions).toContainEqual({ userId: person.id, upTo: 310 });
    expect(await licenseOf(person)).toEqual(pending(311));
  });

  test('clearing one’s document returns 503 and changes nothing when media does not delete it', async () => {
    const person = await join(harness);
    await attach(person.id, 320);
    harness.standIns.whileDeleting = async () => {
      throw new Error('out of order');
    };
    expect((await clear(person)).status).toBe(503);
    expect(await licenseOf(person)).toEqual(pending(320));
  });
});

describe('GET /users/license-reviews', () => {
  const list = (query = '', as = operator.caller) =>
    harness.send('GET', `/users/license-reviews${query}`, { as });
  const idsOf = (body: { data: { id: number }[] }) => body.data.map(({ id }) => id);

  test('the list returns unreviewed licenses page by page, oldest document first', async () => {
    const before = idsOf((await list('?per_page=100')).body);
    const [late, early, decided] = [await join(harness), await join(harness), await join(harness)];
    await attach(early.id, 9_001);
    await attach(decided.id, 9_002);
    await attach(late.id, 9_003);
    await review(decided, { trainer_license_approved: false });
    const { status, body } = await list('?per_page=100');
    expect([status, idsOf(body), body.meta.total]).toEqual([
      200,
      [...before, early.id, late.id],
      before.length + 2,
    ]);
    expect(body.data.at(-1).trainer_license_link).toContain('/media/9003/');

    const ids: number[] = [];
    for (let query = '?per_page=1'; query !== ''; ) {
      const page = (await list(query)).body;
      ids.push(...idsOf(page));
      query = page.meta.next_cursor === null ? '' : `?per_page=1&cursor=${page.meta.next_cursor}`;
    }
    // Other tests have attached the same document to several users; a real one has one owner.
    expect(ids.slice(-2)).toEqual([early.id, late.id]);
    await review(early, { trainer_license_approved: true });
    expect(idsOf((await list('?per_page=100')).body)).toEqual([...before, late.id]);
  });

  describe('name changes since a review', () => {
    const rename = (person: Person, body: Record<string, unknown>) =>
      harness.send('PUT', '/auth/me', { as: person.caller, body });
    const reviewed = async (mediaId: number, verdict: boolean | null): Promise<Person> => {
      const person = await join(harness, { first_name: 'Sara', last_name: 'Ahmadi' });
      await attach(person.id, mediaId);
      await review(person, { trainer_license_approved: verdict });
      return person;
    };
    const changeOf = async ({ id }: Person) => {
      const { body } = await list(`?user_id=${id}`);
      const [change] = body.meta.name_changes;
      expect(change === undefined || idsOf(body).includes(id)).toBe(true);
      return change?.reviewed_name;
    };

    test.each([true, false])(
      'a renamed trainer is listed with the name that the verdict %p was for',
      async (verdict) => {
        const person = await reviewed(9_100, verdict);
        expect(await changeOf(person)).toBeUndefined();
        const renamed = await rename(person, { first_name: 'Mina' });
        expect(await changeOf(person)).toBe('Sara Ahmadi');
        await rename(person, { last_name: 'Karimi' });
        expect(await changeOf(person)).toBe('Sara Ahmadi');
        await rename(person, { height: 170, username: `x${person.user.username}` });
        expect(await changeOf(person)).toBe('Sara Ahmadi');

        const shown = (await harness.send('GET', `/users/${person.id}`, { as: operator.caller })).body.user;
        for (const user of [renamed.body.user, shown])
          expect(Object.keys(user)).toEqual(Object.keys(person.user));
        expect(shown.trainer_license_approved).toBe(verdict);
        const row = (await list('?per_page=100')).body.data.find(
          ({ id }: { id: number }) => id === person.id,
        );
        expect(row).toEqual(shown);

        await rename(person, { first_name: 'Sara', last_name: 'Ahmadi' });
        expect(await changeOf(person)).toBeUndefined();
      },
    );

    test('a renamed trainer is listed until the license is reviewed again, reset, replaced or cleared', async () => {
      const person = await reviewed(9_110, true);
      const ends: [string, () => Promise<unknown>][] = [
        ['Ana', () => review(person, { trainer_license_approved: true })],
        ['Bita', () => review(person, { trainer_license_approved: false })],
        ['Dina', () => review(person, { trainer_license_approved: null })],
        ['Elham', () => attach(person.id, 9_190)],
        ['Farah', () => clear(person)],
      ];
      let verified = 'Sara';
      for (const [name, end] of ends) {
        await rename(person, { first_name: name });
        await review(person, { trainer_license_rejection_reason: 'Which name is it?' });
        expect([name, await changeOf(person)]).toEqual([name, `${verified} Ahmadi`]);
        await end();
        expect([name, await changeOf(person)]).toEqual([name, undefined]);
        const document = await harness.database.collection('users').findOne({ _id: person.id as never });
        expect([name, document?.trainer_license_reviewed_name]).toEqual([name, null]);
        await review(person, { trainer_license_approved: true });
        verified = name;
      }
    });

    test('a trainer whose name and verdict are set in one request is not listed as renamed', async () => {
      const person = await reviewed(9_120, null);
      await review(person, { first_name: 'Mina', trainer_license_approved: true });
      expect(await changeOf(person)).toBeUndefined();
      await review(person, { first_name: 'Sara' });
      expect(await changeOf(person)).toBe('Mina Ahmadi');
    });

    test('a renamed trainer is listed even if an earlier release stored no reviewed name', async () => {
      const person = await reviewed(9_130, true);
      const unset = { $unset: { trainer_license_reviewed_name: 1 } };
      await harness.database.collection('users').updateOne({ _id: person.id as never }, unset);
      await rename(person, { last_name: 'Karimi' });
      expect(await changeOf(person)).toBe('Sara Ahmadi');
    });

    test('renamed trainers follow unreviewed licenses on every page', async () => {
      for (const mediaId of [9_140, 9_141, 9_142])
        await rename(await reviewed(mediaId, true), { first_name: 'Mina' });
      await attach((await join(harness)).id, 9_150);
      const { body } = await list('?per_page=100');
      const all = idsOf(body);
      expect(body.meta.total).toBe(all.length);
      const isChanged = (id: number) => body.meta.name_changes.some((one: { id: number }) => one.id === id);
      expect(all.map(isChanged)).toEqual([...all.map(isChanged)].sort());
      const [byCursor, byPage]: [number[], number[]] = [[], []];
      for (let query = '?per_page=2'; query !== ''; ) {
        const page = (await list(query)).body;
        byCursor.push(...idsOf(page));
        query = page.meta.next_cursor === null ? '' : `?per_page=2&cursor=${page.meta.next_cursor}`;
      }
      for (let page = 1; page <= Math.ceil(all.length / 2); page += 1)
        byPage.push(...idsOf((await list(`?per_page=2&page=${page}`)).body));
      // Other tests have attached the same document to several users; a cursor returns one of them.
      expect(byCursor.filter(isChanged)).toEqual(all.filter(isChanged));
      expect(byPage).toEqual(all);
      expect((await list('?page=300')).body.data).toEqual([]);
    });

    test('the list can be limited to one account', async () => {
      const [one, other] = [await reviewed(9_160, true), await reviewed(9_161, true)];
      await rename(one, { first_name: 'Mina' });
      const { body } = await list(`?user_id=${one.id}`);
      expect([idsOf(body), body.meta.name_changes, body.meta.total]).toEqual([
        [one.id],
        [{ id: one.id, reviewed_name: 'Sara Ahmadi' }],
        1,
      ]);
      expect((await list(`?user_id=${other.id}`)).body.data).toEqual([]);
      await attach(other.id, 9_170);
      expect(idsOf((await list(`?user_id=${other.id}`)).body)).toEqual([other.id]);
      expect((await list('?user_id=987654321')).body.data).toEqual([]);
      expect((await list('?user_id=x')).status).toBe(422);
    });
  });

  test('the list requires users.update_any and users.view_all', async () => {
    const member = await join(harness);
    expect((await list('', member.caller)).status).toBe(403);
    expect((await list('', caller(1, ['users.update_any']))).status).toBe(403);
    expect((await list('', caller(1, ['users.view_all']))).status).toBe(403);
    expect((await list('', caller(1, ['users.update_any', 'users.view_all']))).status).toBe(200);
  });
});
