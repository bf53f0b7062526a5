import { accountDeleted } from '@fitness/proto/events/identity.ts';
import { mediaAttached, mediaDeleted } from '@fitness/proto/events/media.ts';
import { eventually } from '@fitness/shared/testing/harness.ts';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { type Harness, holder, member, openHarness, operator, untilAccepted } from './support.ts';

let harness: Harness;
beforeAll(async () => {
  harness = await openHarness();
});
afterAll(() => harness.close());

const gymOf = async (id: number) => (await harness.send('GET', `/gyms/${id}`, { as: operator() })).body.gym;
const row = (gymId: number, mediaId: number, change: Record<string, unknown> = {}) => ({
  media_id: mediaId,
  attachable_type: 'App\\Models\\Gyms\\Gym',
  attachable_id: gymId,
  purpose: 'gym_license',
  filename: `license ${mediaId}.pdf`,
  ...change,
});
const attach = (gymId: number, mediaId: number) =>
  harness.gyms.call('AttachLicense', {
    gym_id: gymId,
    media_id: mediaId,
    filename: `license ${mediaId}.pdf`,
  });

describe('gRPC Gyms.GetGyms', () => {
  test('gyms are returned by id, even inactive or ownerless ones, and unknown ids are left out', async () => {
    const active = await harness.createGym(member(10), { name: 'A' });
    const orphan = await harness.createGym(member(10), { name: 'B', is_active: false });
    await harness.send('PUT', `/gyms/${orphan}`, { as: operator(), body: { user_id: null, name: null } });
    const { gyms } = await harness.gyms.call('GetGyms', { ids: [orphan, active, active, 987_654_321] });
    expect(gyms.toSorted((a, b) => a.id - b.id)).toEqual([
      expect.objectContaining({ id: active, name: 'A', user_id: 10, is_active: true, version: 1 }),
      expect.objectContaining({ id: orphan, name: '', is_active: false, version: 2 }),
    ]);
    expect(gyms.find((gym) => gym.id === orphan)?.user_id).toBeUndefined();
    expect((await harness.gyms.call('GetGyms', { ids: [] })).gyms).toEqual([]);
  });

  test('a request for more than 200 ids is refused', async () => {
    const ids = Array.from({ length: 201 }, (_, index) => index + 1);
    await expect(harness.gyms.call('GetGyms', { ids })).rejects.toMatchObject({ kind: 'validation' });
  });
});

describe('GET /gyms/license-reviews', () => {
  const list = (query = '', as = operator()) => harness.send('GET', `/gyms/license-reviews${query}`, { as });
  const idsOf = (body: { data: { id: number }[] }) => body.data.map(({ id }) => id);

  test('unreviewed licenses are listed with the oldest document first, page by page', async () => {
    const before = idsOf((await list('?per_page=100')).body);
    const [late, early, decided] = [
      await harness.createGym(member(10)),
      await harness.createGym(member(10), { is_active: false }),
      await harness.createGym(member(10)),
    ];
    await attach(early, 9_001);
    await attach(decided, 9_002);
    await attach(late, 9_003);
    const verdict = { as: operator(), body: { gym_license_approved: true } };
    expect((await harness.send('PUT', `/gyms/${decided}`, verdict)).status).toBe(200);
    const { status, body } = await list('?per_page=100');
    expect([status, idsOf(body), body.meta.total]).toEqual([
      200,
      [...before, early, late],
      before.length + 2,
    ]);
    expect(body.data.at(-1).gym_license_link).toContain('/media/9003/');

    const paged: number[] = [];
    for (let query = '?per_page=1'; query !== ''; ) {
      const page = (await list(query)).body;
      paged.push(...idsOf(page));
      query = page.meta.next_cursor === null ? '' : `?per_page=1&cursor=${page.meta.next_cursor}`;
    }
    // Other tests have given one document to several gyms; a real document has one owner.
    expect(paged.slice(-2)).toEqual([early, late]);
  });

  describe('gyms that were renamed since their review', () => {
    const put = (id: number, body: unknown, as = operator()) =>
      harness.send('PUT', `/gyms/${id}`, { as, body });
    const changeOf = async (id: number) => {
      const { body } = await list('?per_page=100');
      const change = body.meta.name_changes.find((one: { id: number }) => one.id === id);
      expect(idsOf(body).includes(id) || change === undefined).toBe(true);
      return change?.reviewed_name;
    };
    const reviewed = async (approved: boolean, mediaId?: number): Promise<number> => {
      const id = await harness.createGym(member(12), { name: 'Iron House' });
      if (mediaId !== undefined) await attach(id, mediaId);
      await put(id, { gym_license_approved: approved });
      return id;
    };

    test.each([
      [false, 9_100],
      [true, undefined],
    ])(
      'a gym renamed after the verdict %p on document %p is listed with its reviewed name',
      async (approved, mediaId) => {
        const id = await reviewed(approved, mediaId);
        const before = (await put(id, {})).body.gym;
        expect(await changeOf(id)).toBeUndefined();
        const renamed = await put(id, { name: 'Gold House' }, member(12));
        expect(await changeOf(id)).toBe('Iron House');
        await put(id, { name: null, description: 'New' }, member(12));
        expect(await changeOf(id)).toBe('Iron House');
        await put(id, { description: 'Newer', gym_license_rejection_reason: 'Which one?' });
        expect(await changeOf(id)).toBe('Iron House');
        expect(Object.keys(renamed.body.gym)).toEqual(Object.keys(before));
        expect(renamed.body.gym.gym_license_approved).toBe(approved);
        await put(id, { name: 'Iron House' }, member(12));
        expect(await changeOf(id)).toBeUndefined();
      },
    );

    test('a renamed gym is listed until it is reviewed again, reset, or has another document', async () => {
      const ends: [string, (id: number) => Promise<unknown>][] = [
        ['approved', (id) => put(id, { gym_license_approved: true })],
        ['rejected', (id) => put(id, { gym_license_approved: false })],
        ['reset', (id) => put(id, { gym_license_approved: null })],
        ['cleared', (id) => put(id, { gym_license_image: null }, member(12))],
        ['replaced', (id) => attach(id, 9_190)],
      ];
      for (const [end, act] of ends) {
        const id = await reviewed(true, 9_110);
        await put(id, { name: 'Gold House' }, member(12));
        expect([end, await changeOf(id)]).toEqual([end, 'Iron House']);
        await act(id);
        expect([end, await changeOf(id)]).toEqual([end, undefined]);
      }
    });

    test('a gym without a reviewed name is listed with null, and not at all if the verdict sets the name', async () => {
      const id = await harness.createGym(member(12));
      await put(id, { name: null, gym_license_approved: true });
      expect(await changeOf(id)).toBeUndefined();
      await put(id, { name: 'Gold House' }, member(12));
      expect(await changeOf(id)).toBeNull();
      await put(id, { name: 'Silver House', gym_license_approved: true });
      expect(await changeOf(id)).toBeUndefined();
    });

    test('a renamed gym is listed even if an earlier release stored no reviewed name', async () => {
      const id = await reviewed(true, 9_120);
      await harness.connection
        .collection<{ _id: number }>('gyms')
        .updateOne({ _id: id }, { $unset: { 'license.reviewedName': 1 } });
      await put(id, { name: 'Gold House' }, member(12));
      expect(await changeOf(id)).toBe('Iron House');
    });

    test('renamed gyms follow unreviewed ones on every page, and gym_id selects one of them', async () => {
      for (const mediaId of [9_140, undefined, 9_142])
        await put(await reviewed(true, mediaId), { name: 'Gold House' });
      await attach(await harness.createGym(member(12)), 9_150);
      const { body } = await list('?per_page=100');
      const all = idsOf(body);
      expect(body.meta.total).toBe(all.length);
      const changed: number[] = body.meta.name_changes.map(({ id }: { id: number }) => id);
      expect(all.slice(-changed.length)).toEqual(changed);
      const [byCursor, byPage]: [number[], number[]] = [[], []];
      for (let query = '?per_page=2'; query !== ''; ) {
        const page = (await list(query)).body;
        byCursor.push(...idsOf(page));
        query = page.meta.next_cursor === null ? '' : `?per_page=2&cursor=${page.meta.next_cursor}`;
      }
      for (let page = 1; page <= Math.ceil(all.length / 2); page += 1)
        byPage.push(...idsOf((await list(`?per_page=2&page=${page}`)).body));
      expect(byCursor.slice(-changed.length)).toEqual(changed);
      expect(byPage).toEqual(all);
      const [id] = changed;
      const one = (await list(`?gym_id=${id}`)).body;
      expect([idsOf(one), one.meta.name_changes.length, one.meta.total]).toEqual([[id], 1, 1]);
      expect((await list('?gym_id=987654321')).body.data).toEqual([]);
    });
  });

  test('license reviews need gyms.approve_license and gyms.view_all', async () => {
    expect((await list('', member(10))).status).toBe(403);
    expect((await list('', holder(11, 'gyms.approve_license'))).status).toBe(403);
    expect((await list('', holder(11, 'gyms.view_all'))).status).toBe(403);
  });
});

describe('gRPC Blockers.Evaluate', () => {
  test('gym_ownership counts all gyms of the user, inactive ones included, and follows a transfer', async () => {
    const evaluate = (userId: number) =>
      harness.blockers.call('Evaluate', { user_id: userId, code: 'gym_ownership' });
    expect(await evaluate(20)).toEqual({ applies: false, extras_json: '{}' });
    const id = await harness.createGym(member(20));
    await harness.createGym(member(20), { is_active: false });
    expect(await evaluate(20)).toEqual({ applies: true, extras_json: '{"count":2}' });
    await harness.send('PUT', `/gyms/${id}`, { as: operator(), body: { user_id: 21 } });
    expect(await evaluate(20)).toEqual({ applies: true, extras_json: '{"count":1}' });
    expect(await evaluate(21)).toEqual({ applies: true, extras_json: '{"count":1}' });
  });

  test.each(['unsettled_balance', 'constructor', ''])(
    'the code %j, which is no blocker of this service, is not found',
    async (code) => {
      await expect(harness.blockers.call('Evaluate', { user_id: 1, code })).rejects.toMatchObject({
        kind: 'not_found',
      });
    },
  );

  test('a blocker is refused for a user id that is not positive', async () => {
    await expect(
      harness.blockers.call('Evaluate', { user_id: 0, code: 'gym_ownership' }),
    ).rejects.toMatchObject({
      kind: 'validation',
    });
  });
});

describe('the license document', () => {
  test('a document becomes the license by the call of media, and resets the review', async () => {
    const id = await harness.createGym(member(30));
    const body = { gym_license_approved: false, gym_license_rejection_reason: 'Old' };
    await harness.send('PUT', `/gyms/${id}`, { as: operator(), body });
    expect(await attach(id, 100)).toEqual({ current: true });
    expect(await gymOf(id)).toMatchObject({
      gym_license_image: 'license 100.pdf',
      gym_license_link: '/api/v1/media/100/license%20100.pdf',
      gym_license_approved: null,
      gym_license_rejection_reason: null,
    });
  });

  test('a document of a missing gym is not found, and an invalid request is refused', async () => {
    await expect(attach(987_654_321, 1)).rejects.toMatchObject({ kind: 'not_found' });
    await expect(attach(1, 0)).rejects.toMatchObject({ kind: 'validation' });
  });

  test('a document becomes the license by the event when the call was lost', async () => {
    const id = await harness.createGym(member(30));
    await harness.publish(mediaAttached, { subject: 110, data: row(id, 110) });
    await eventually(async () => (await gymOf(id)).gym_license_image === 'license 110.pdf');
  });

  test('a license stays reviewed when its document is reported again', async () => {
    const id = await harness.createGym(member(30));
    await attach(id, 120);
    await harness.send('PUT', `/gyms/${id}`, { as: operator(), body: { gym_license_approved: true } });
    expect(await attach(id, 120)).toEqual({ current: true });
    await harness.publish(mediaAttached, { subject: 120, data: row(id, 120) });
    await harness.publish(mediaAttached, {
      subject: 121,
      data: row(await harness.createGym(member(30)), 121),
    });
    await eventually(async () => (await harness.connection.collection('inbox').countDocuments({})) >= 3);
    expect((await gymOf(id)).gym_license_approved).toBe(true);
  });

  test('a late report of an older document or its deletion changes nothing', async () => {
    const id = await harness.createGym(member(30));
    await attach(id, 131);
    expect(await attach(id, 130)).toEqual({ current: false });
    await harness.publish(mediaDeleted, { subject: 130, data: row(id, 130), version: 2 });
    const other = await harness.createGym(member(30));
    await harness.publish(mediaAttached, { subject: 130, data: row(other, 132) });
    await eventually(async () => (await gymOf(other)).gym_license_image !== null);
    expect((await gymOf(id)).gym_license_image).toBe('license 131.pdf');
  });

  test.each([
    ['the document that was committed last', false],
    ['no document if the last one was deleted', true],
  ])('calls and events in any order leave %s', async (_name, isDeleted) => {
    const inbox = harness.connection.collection('inbox');
    /** Media assigns larger ids to later commits. */
    const [first, second, last] = [2_001, 2_005, 2_006];
    const call = (mediaId: number) => (id: number) => attach(id, mediaId);
    const event = (definition: typeof mediaAttached, mediaId: number) => async (id: number) => {
      const before = await inbox.countDocuments({});
      await harness.publish(definition, { subject: mediaId, data: row(id, mediaId) });
      await eventually(async () => (await inbox.countDocuments({})) > before);
    };
    const reports = [
      ...[first, second, last].flatMap((mediaId) => [call(mediaId), event(mediaAttached, mediaId)]),
      ...[first, second, ...(isDeleted ? [last] : [])].map((mediaId) => event(mediaDeleted, mediaId)),
    ];
    const orders = reports.flatMap((_, start) => {
      const order = [...reports.slice(start), ...reports.slice(0, start)];
      return [order, order.toReversed()];
    });
    for (const order of orders) {
      const id = await harness.createGym(member(30));
      for (const report of order) await report(id);
      expect((await gymOf(id)).gym_license_image).toBe(isDeleted ? null : `license ${last}.pdf`);
    }
  });

  test('a cleared document does not come back through a late report', async () => {
    const id = await harness.createGym(member(30));
    await attach(id, 140);
    await harness.send('PUT', `/gyms/${id}`, { as: member(30), body: { gym_license_image: null } });
    expect(await attach(id, 140)).toEqual({ current: false });
    expect((await gymOf(id)).gym_license_image).toBeNull();
    expect(await attach(id, 141)).toEqual({ current: true });
  });

  test('a license is removed with its review when media deletes the document', async () => {
    const id = await harness.createGym(member(30));
    await attach(id, 150);
    await harness.send('PUT', `/gyms/${id}`, { as: operator(), body: { gym_license_approved: true } });
    await harness.publish(mediaDeleted, { subject: 150, data: row(id, 150) });
    await eventually(async () => (await gymOf(id)).gym_license_image === null);
    expect((await gymOf(id)).gym_license_approved).toBeNull();
  });

  test('the owner is notified when an operator has deleted the license document', async () => {
    const [id, own] = [await harness.createGym(member(30)), await harness.createGym(member(30))];
    await attach(own, 154);
    await attach(id, 155);
    await harness.publish(mediaDeleted, { subject: 154, data: row(own, 154) });
    await eventually(async () => (await gymOf(own)).gym_license_image === null);
    await harness.publish(mediaDeleted, { subject: 155, data: row(id, 155, { by_operator: true }) });
    const { data } = await harness.tap.waitFor('gyms.gym.license_reviewed', {
      matches: ({ subject }) => subject === String(id),
    });
    expect(data).toMatchObject({ gym_id: id, owner_user_id: 30, approved: null, rejection_reason: null });
    expect((await gymOf(id)).gym_license_image).toBeNull();
    // Events are published in the order of the transactions.
    const reviewed = harness.tap.events.filter(({ type }) => type === 'gyms.gym.license_reviewed');
    expect(reviewed.map(({ subject }) => subject)).not.toContain(String(own));
  });

  test('other media of a gym and licenses of users change nothing', async () => {
    const id = await harness.createGym(member(30));
    const other = await harness.createGym(member(30));
    const subject = 160;
    await harness.publish(mediaAttached, { subject, data: row(id, 160, { purpose: null }) });
    await harness.publish(mediaAttached, {
      subject,
      data: row(id, 161, { attachable_type: 'App\\Models\\User', purpose: 'gym_license' }),
    });
    await harness.publish(mediaAttached, { subject, data: row(987_654_321, 162) });
    await harness.publish(mediaAttached, { subject, data: row(other, 163) });
    await eventually(async () => (await gymOf(other)).gym_license_image !== null);
    expect((await gymOf(id)).gym_license_image).toBeNull();
  });
});

describe('identity.account.deleted', () => {
  test('an erasure keeps ratings in the average, and gyms lose their owner and license document', async () => {
    const rated = await harness.createGym(member(40));
    const owned = await harness.createGym(member(41), { name: 'Left behind' });
    await attach(owned, 170);
    for (const [user, score] of [
      [41, 5],
      [42, 2],
    ] as const) {
      await harness.send('PUT', `/gyms/${rated}/rating`, { as: member(user), body: { score } });
    }
    await harness.publish(accountDeleted, {
      subject: 41,
      data: { user_id: 41, deleted_at: '2026-01-15 10:00:00' },
    });
    await eventually(async () => (await gymOf(owned)).user_id === null);
    expect(await gymOf(rated)).toMatchObject({ rating_count: 2, rating_average: 3.5 });
    const ratings = await harness.connection.collection('gym_ratings').find({ gymId: rated }).toArray();
    expect(new Map(ratings.map(({ userId, score }) => [score, userId]))).toEqual(
      new Map([
        [5, null],
        [2, 42],
      ]),
    );
    expect((await gymOf(owned)).gym_license_image).toBeNull();
    const cleared = await harness.tap.waitFor('gyms.gym.license_cleared', {
      matches: (event) => event.subject === String(owned),
    });
    expect(cleared.data).toEqual({ gym_id: owned, media_id: 170 });
    const published = await harness.tap.waitFor('gyms.gym.changed', {
      matches: (event) => event.subject === String(owned) && event.aggregateversion === 2,
    });
    expect(published.data).toEqual({ gym_id: owned, name: 'Left behind', user_id: null, is_active: true });
    const refused = await harness.send('PUT', `/gyms/${owned}`, { as: operator(), body: { user_id: 41 } });
    expect([refused.status, Object.keys(refused.body.errors)]).toEqual([422, ['user_id']]);
    // A rating after the erasure is refused: it would store the id of the account again.
    const late = await harness.send('PUT', `/gyms/${rated}/rating`, { as: member(41), body: { score: 1 } });
    expect(late.status).toBe(403);
    expect(await harness.connection.collection('gym_ratings').countDocuments({ userId: 41 })).toBe(0);
    expect(await gymOf(rated)).toMatchObject({ rating_count: 2, rating_average: 3.5 });
  });

  test('gyms created during the erasure have no owner, and later ones are refused', async () => {
    const body = { name: 'Late', address: 'Street 1', location_lat: 1, location_lng: 1 };
    const create = () => untilAccepted(() => harness.send('POST', '/gyms', { as: member(43), body }));
    const gyms = harness.connection.collection('gyms');
    const [answers] = await Promise.all([
      Promise.all(Array.from({ length: 20 }, create)),
      harness.publish(accountDeleted, {
        subject: 43,
        data: { user_id: 43, deleted_at: '2026-01-15 10:00:00' },
      }),
    ]);
    for (const { status } of answers) expect([201, 403]).toContain(status);
    await eventually(async () => (await create()).status === 403);
    const before = await gyms.countDocuments({});
    expect((await create()).status).toBe(403);
    expect(await gyms.countDocuments({})).toBe(before);
    expect(await gyms.countDocuments({ ownerId: 43 })).toBe(0);
    const { applies } = await harness.blockers.call('Evaluate', { user_id: 43, code: 'gym_ownership' });
    expect(applies).toBe(false);
  });
});
