import { accountDeleted } from '@fitness/proto/events/identity.ts';
import { mediaAttached } from '@fitness/proto/events/media.ts';
import type { UserCaller } from '@fitness/shared/kernel/caller.ts';
import { CALLER_HEADER } from '@fitness/shared/process-identity/caller-context.ts';
import { eventually, gatewayContext } from '@fitness/shared/testing/harness.ts';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import { type Harness, holder, member, openHarness, operator, UNKNOWN_USER } from './support.ts';

let harness: Harness;
beforeAll(async () => {
  harness = await openHarness();
});
afterAll(() => harness.close());
beforeEach(() => {
  harness.standIns.calls.length = 0;
  Object.assign(harness.standIns.up, { identity: true, media: true, storeBilling: true });
});

const put = (id: number, as: UserCaller | undefined, body: unknown, headers: Record<string, string> = {}) =>
  harness.send('PUT', `/gyms/${id}`, as === undefined ? { body, headers } : { as, body, headers });
const stored = (id: number) =>
  harness.connection.collection<{ _id: number; version: number }>('gyms').findOne({ _id: id });
const read = async (id: number) => (await harness.send('GET', `/gyms/${id}`, { as: operator() })).body.gym;
const eventsOf = (id: number, type: string) =>
  harness.tap.events.filter((event) => event.type === type && event.subject === String(id));
/** Events of a gym are published in order: once this one has arrived, all earlier ones have too. */
const settle = async (id: number): Promise<void> => {
  const version = (await stored(id))?.version;
  await eventually(() =>
    eventsOf(id, 'gyms.gym.changed').some((event) => event.aggregateversion === version),
  );
};
const reviews = async (id: number) => {
  await put(id, operator(), { description: 'settled' });
  await settle(id);
  return eventsOf(id, 'gyms.gym.license_reviewed').map((event) => event.data);
};
const attach = (id: number, mediaId: number, filename = 'license.pdf') =>
  harness.gyms.call('AttachLicense', { gym_id: id, media_id: mediaId, filename });

const FULL = {
  name: 'Iron',
  address: 'Street 1',
  description: 'Heavy',
  city_id: 1,
  major_ids: '1,2',
  show_crowd: true,
};

test('a session of /ops may review the license of a gym, but send no other field', async () => {
  const id = await harness.createGym(member(1));
  const as: UserCaller = { ...operator(), page: 'ops' };
  const before = await read(id);
  for (const body of [{ user_id: 2 }, { name: 'Other' }, { name: 7 }, { gym_license_image: null }])
    expect([body, (await put(id, as, { gym_license_approved: true, ...body })).status]).toEqual([body, 403]);
  expect(await read(id)).toEqual(before);
  const review = {
    gym_license_approved: false,
    gym_license_rejection_reason: 'no',
    gym_license_media_id: null,
  };
  expect((await put(id, as, review)).status).toBe(200);
});

describe('a partial update', () => {
  /** In this order, each changes its field. */
  const CHANGES: [string, Record<string, unknown>, Record<string, unknown>][] = [
    ['name', { name: 'New' }, { name: 'New' }],
    ['address', { address: 'Elsewhere' }, { address: 'Elsewhere' }],
    ['description', { description: 'x'.repeat(2_000) }, { description: 'x'.repeat(2_000) }],
    ['location_lat', { location_lat: -1.5 }, { location_lat: -1.5 }],
    ['location_lng', { location_lng: 180 }, { location_lng: 180 }],
    ['is_active', { is_active: false }, { is_active: false }],
    ['is_active, again', { is_active: true }, { is_active: true }],
    ['show_crowd', { show_crowd: false }, { show_crowd: false }],
    ['show_crowd, again', { show_crowd: true }, { show_crowd: true }],
    ['city_id', { city_id: 22 }, { city: { id: 22, name: 'Karaj', state: { id: 2, name: 'Alborz' } } }],
    ['major_ids 0', { major_ids: '0' }, { majors: [] }],
    ['major_ids', { major_ids: ' 3 , 3' }, { majors: [{ id: 3, title: 'CrossFit' }] }],
    ['null name', { name: null }, { name: null }],
    ['null address', { address: null }, { address: null }],
    ['null description', { description: null }, { description: null }],
    ['null location_lat', { location_lat: null }, { location_lat: null }],
    ['null location_lng', { location_lng: null }, { location_lng: null }],
    ['null is_active', { is_active: null }, { is_active: false }],
    ['null show_crowd', { show_crowd: null }, { show_crowd: false }],
    ['null city_id', { city_id: null }, { city: null }],
    ['null major_ids', { major_ids: null }, { majors: [] }],
    ['unknown fields only', { id: 1, rating_count: 9, created_at: 'x', version: 3 }, {}],
  ];

  test('an update of a field changes that field and nothing else', async () => {
    const id = await harness.createGym(member(10), FULL);
    for (const [field, body, changed] of CHANGES) {
      const before = await read(id);
      const answer = await put(id, member(10), body);
      expect([field, answer.status, answer.body.gym]).toEqual([field, 200, { ...before, ...changed }]);
      expect([field, await read(id)]).toEqual([field, { ...before, ...changed }]);
    }
  });

  test('an update publishes an event with the next version, and advances updated_at', async () => {
    const id = await harness.createGym(member(10), FULL);
    harness.clock.advance(61_000);
    const { body } = await put(id, member(10), { name: 'Second', is_active: false });
    expect(body.gym.updated_at > body.gym.created_at).toBe(true);
    await settle(id);
    expect(
      eventsOf(id, 'gyms.gym.changed').map(({ aggregateversion, data }) => [aggregateversion, data]),
    ).toEqual([
      [1, { gym_id: id, name: 'Iron', user_id: 10, is_active: true }],
      [2, { gym_id: id, name: 'Second', user_id: 10, is_active: false }],
    ]);
  });

  test.each([
    ['an empty body', {}],
    ['unknown fields', { rating_count: 9, updated_at: 'x' }],
  ])(
    'an update with %s changes neither version nor updated_at, and publishes no event',
    async (_name, body) => {
      const id = await harness.createGym(member(10), FULL);
      const before = [await read(id), await stored(id)];
      harness.clock.advance(61_000);
      const answer = await put(id, member(10), body);
      expect([answer.status, answer.body.gym]).toEqual([200, before[0]]);
      expect([await read(id), await stored(id)]).toEqual(before);
      expect((await put(id, member(11), body)).status).toBe(403);
      expect((await put(id, member(10), { name: 'Later' })).status).toBe(200);
      await settle(id);
      expect(eventsOf(id, 'gyms.gym.changed').map((event) => event.aggregateversion)).toEqual([1, 2]);
    },
  );

  test('an updated text is found by the next search', async () => {
    const id = await harness.createGym(member(10), { name: 'Quetzal Hall' });
    const totalFor = async (search: string): Promise<number> =>
      (await harness.send('GET', `/gyms?search=${search}`)).body.meta.total;
    expect(await totalFor('quetzal')).toBe(1);
    await put(id, member(10), { name: 'Xylophone Hall' });
    expect([await totalFor('quetzal'), await totalFor('xylo')]).toEqual([0, 1]);
    await put(id, member(10), { name: null });
    expect(await totalFor('xylo')).toBe(0);
  });
});

describe('refused updates', () => {
  test.each([
    ['name', { name: '' }],
    ['address', { address: '' }],
    ['user_id', { user_id: UNKNOWN_USER }],
    ['city_id', { city_id: 99_999 }],
    ['major_ids', { major_ids: '1,99999' }],
  ])('an update is rejected with 422 under %s for %j, and changes nothing', async (field, body) => {
    const id = await harness.createGym(member(11), FULL);
    const before = await stored(id);
    const answer = await put(id, operator(), { ...body, ...(field === 'name' ? {} : { name: 'Never' }) });
    expect(answer.status).toBe(422);
    expect(Object.keys(answer.body.errors)).toEqual([field]);
    expect(await stored(id)).toEqual(before);
  });

  test('a 422 names every unknown reference, in the language of the request', async () => {
    const id = await harness.createGym(member(11));
    const body = { user_id: UNKNOWN_USER, city_id: 99_999, major_ids: '99999' };
    const answer = await put(id, operator(), body, { 'accept-language': 'fa' });
    expect(Object.keys(answer.body.errors).toSorted()).toEqual(['city_id', 'major_ids', 'user_id']);
    expect(answer.body.message).toMatch(/[\u0600-\u06ff]/);
  });

  test('a transfer returns 503 while identity cannot say whether the new owner exists', async () => {
    const id = await harness.createGym(member(11));
    harness.standIns.up.identity = false;
    const before = await stored(id);
    const answer = await put(id, operator(), { user_id: 12, name: 'Never' });
    expect(answer.status).toBe(503);
    expect(answer.headers.get('retry-after')).not.toBeNull();
    expect(await stored(id)).toEqual(before);
    // An update without a new owner does not need identity.
    expect((await put(id, operator(), { name: 'Still' })).status).toBe(200);
  });
});

describe('permissions', () => {
  test('an update is rejected with 401 for a guest', async () => {
    const id = await harness.createGym(member(13));
    expect((await put(id, undefined, { name: 'x' })).status).toBe(401);
  });

  const REFUSED: [string, UserCaller, Record<string, unknown>][] = [
    ['another member', member(14), { name: 'x' }],
    ['another member who sends nothing', member(14), {}],
    ['the owner without gyms.update', holder(13, 'gyms.view_all'), { name: 'x' }],
    [
      'a reviewer who changes more than the review',
      holder(15, 'gyms.approve_license'),
      { gym_license_approved: true, name: 'x' },
    ],
    ['a reviewer who clears the document', holder(15, 'gyms.approve_license'), { gym_license_image: null }],
    ['the owner who reviews', member(13), { gym_license_approved: true, name: 'x' }],
    ['the owner who resets the review', member(13), { gym_license_approved: null }],
    ['the owner who gives a reason', member(13), { gym_license_rejection_reason: 'x' }],
    ['the owner who gives a null reason', member(13), { gym_license_rejection_reason: null }],
    ['the owner who clears and reviews', member(13), { gym_license_image: null, gym_license_approved: true }],
    ['the owner who gives the gym away', member(13), { user_id: 14 }],
    ['the owner who sends their own id', member(13), { user_id: 13 }],
    ['the owner who leaves it without an owner', member(13), { user_id: null }],
    [
      'gyms.transfer_ownership with another field of another’s gym',
      holder(14, 'gyms.update', 'gyms.transfer_ownership'),
      { user_id: 14, name: 'x' },
    ],
    [
      'gyms.transfer_ownership with the clearing of the document',
      holder(15, 'gyms.transfer_ownership'),
      { user_id: 14, gym_license_image: null },
    ],
    ['gyms.transfer_ownership without a field', holder(15, 'gyms.transfer_ownership'), {}],
    [
      'gyms.update_any without gyms.approve_license',
      holder(14, 'gyms.update_any'),
      { gym_license_approved: false },
    ],
    [
      'gyms.update_any without gyms.transfer_ownership',
      holder(14, 'gyms.update_any'),
      { user_id: UNKNOWN_USER },
    ],
  ];

  test('an update without the permission is rejected with 403, and changes nothing', async () => {
    const id = await harness.createGym(member(13), FULL);
    const before = await stored(id);
    for (const [name, as, body] of REFUSED)
      expect([name, (await put(id, as, body)).status]).toEqual([name, 403]);
    expect(await stored(id)).toEqual(before);
  });

  test('gyms.update_any changes any gym, including an inactive one', async () => {
    const id = await harness.createGym(member(13), { is_active: false });
    expect((await put(id, holder(14, 'gyms.update_any'), { name: 'x' })).status).toBe(200);
  });

  test('gyms.approve_license alone reviews any gym', async () => {
    for (const is_active of [true, false]) {
      const id = await harness.createGym(member(13), { is_active });
      const answer = await put(id, holder(15, 'gyms.approve_license'), { gym_license_approved: true });
      expect(answer.status).toBe(200);
      expect((await read(id)).gym_license_approved).toBe(true);
    }
  });

  test('gyms.transfer_ownership alone transfers any gym', async () => {
    for (const is_active of [true, false]) {
      const id = await harness.createGym(member(13), { is_active });
      const answer = await put(id, holder(15, 'gyms.transfer_ownership'), { user_id: 16 });
      expect(answer.status).toBe(200);
      expect((await read(id)).user_id).toBe(16);
    }
  });

  test('a transfer and a review in one request need only their two permissions', async () => {
    const id = await harness.createGym(member(13));
    const body = { user_id: 16, gym_license_approved: true };
    expect((await put(id, holder(15, 'gyms.transfer_ownership'), body)).status).toBe(403);
    const both = holder(15, 'gyms.transfer_ownership', 'gyms.approve_license');
    expect((await put(id, both, body)).status).toBe(200);
    expect(await read(id)).toMatchObject(body);
  });

  test('another user’s inactive gym is the same 404 as a missing one', async () => {
    const id = await harness.createGym(member(13), { is_active: false });
    const hidden = await put(id, member(14), { name: 'x' });
    const missing = await put(987_654_321, member(14), { name: 'x' });
    expect([hidden.status, hidden.text]).toEqual([404, missing.text]);
  });

  test.each([
    ['gym_license_approved', [true, null, 'yes']],
    ['gym_license_rejection_reason', ['No', null, '\ud800']],
    ['user_id', [13, null, UNKNOWN_USER, -3]],
  ])(
    'the field %s without its permission is rejected with 403 for any value, before 422 and 404',
    async (field, values) => {
      const id = await harness.createGym(member(13), FULL);
      const before = await stored(id);
      for (const value of values)
        for (const more of value === null
          ? [{ gym_license_image: null }, { city_id: 99_999 }]
          : [{}, { name: 5 }])
          for (const [gymId, as] of [
            [id, member(13)],
            [id, member(14)],
            [987_654_321, member(13)],
            [id, holder(13, 'gyms.update_any')],
          ] as const)
            expect([field, value, (await put(gymId, as, { ...more, [field]: value })).status]).toEqual([
              field,
              value,
              403,
            ]);
      expect(await stored(id)).toEqual(before);
      const names = ['gyms.update', 'gyms.approve_license', 'gyms.transfer_ownership'] as const;
      const own = field === 'user_id' ? names[2] : names[1];
      const others = names.filter((name) => name !== own);
      expect((await put(id, holder(13, ...others), { [field]: values.at(-1) })).status).toBe(403);
      expect((await put(id, holder(13, 'gyms.update', own), { [field]: values.at(-1) })).status).toBe(422);
    },
  );

  test('a body that is not JSON gets 400, and one that is not an object 422, before field permissions', async () => {
    const id = await harness.createGym(member(13));
    const send = async (text: string): Promise<number> => {
      const context = gatewayContext('gyms', member(13));
      const headers = { [CALLER_HEADER]: context, 'content-type': 'application/json' };
      return (await fetch(`${harness.url}/api/v1/gyms/${id}`, { method: 'PUT', headers, body: text })).status;
    };
    expect(await send('{"gym_license_approved": tru')).toBe(400);
    for (const text of ['null', '[]', '"gym_license_approved"', '7']) expect(await send(text)).toBe(422);
  });

  test('gym_license_media_id needs no separate permission', async () => {
    const id = await harness.createGym(member(13));
    await attach(id, 540);
    const body = { gym_license_image: null, gym_license_media_id: 540 };
    expect((await put(id, member(13), body)).status).toBe(200);
    expect((await put(id, member(13), { gym_license_media_id: 'x' })).status).toBe(422);
  });

  test('the new owner sees and updates the gym after a transfer, and the previous owner does neither', async () => {
    const id = await harness.createGym(member(13), { is_active: false });
    const answer = await put(id, operator(), { user_id: 16 });
    expect(answer.body.gym.user_id).toBe(16);
    expect((await put(id, member(13), { name: 'x' })).status).toBe(404);
    expect((await put(id, member(16), { name: 'y' })).status).toBe(200);
    await put(id, operator(), { user_id: null });
    expect((await read(id)).user_id).toBeNull();
    expect((await put(id, member(16), { name: 'z' })).status).toBe(404);
  });
});

describe('license review (specification 3.2)', () => {
  test('an approval, a rejection and another approval each notify the owner once', async () => {
    const id = await harness.createGym(member(30), { name: 'Reviewed' });
    await put(id, operator(), { gym_license_approved: true });
    await put(id, operator(), { gym_license_approved: false, gym_license_rejection_reason: 'Unreadable' });
    expect(await read(id)).toMatchObject({
      gym_license_approved: false,
      gym_license_rejection_reason: 'Unreadable',
    });
    await put(id, operator(), { gym_license_approved: true });
    expect(await read(id)).toMatchObject({ gym_license_approved: true, gym_license_rejection_reason: null });
    const common = { gym_id: id, gym_name: 'Reviewed', owner_user_id: 30 };
    expect(await reviews(id)).toEqual([
      { ...common, approved: true, rejection_reason: null },
      { ...common, approved: false, rejection_reason: 'Unreadable' },
      { ...common, approved: true, rejection_reason: null },
    ]);
  });

  test('an unchanged review notifies nobody', async () => {
    const id = await harness.createGym(member(30));
    for (const approved of [null, false, false, null, true, true]) {
      expect((await put(id, operator(), { gym_license_approved: approved })).status).toBe(200);
    }
    expect((await reviews(id)).map((data) => (data as { approved: boolean }).approved)).toEqual([
      false,
      true,
    ]);
  });

  test('a reset to pending clears the reason and notifies nobody', async () => {
    const id = await harness.createGym(member(30));
    await put(id, operator(), { gym_license_approved: false, gym_license_rejection_reason: 'No' });
    await put(id, operator(), { gym_license_approved: null });
    expect(await read(id)).toMatchObject({ gym_license_approved: null, gym_license_rejection_reason: null });
    expect(await reviews(id)).toHaveLength(1);
  });

  test('the reason of a rejection can change alone, and null clears it', async () => {
    const id = await harness.createGym(member(30));
    await put(id, operator(), { gym_license_approved: false, gym_license_rejection_reason: 'No' });
    await put(id, operator(), { gym_license_rejection_reason: 'Really no' });
    expect(await read(id)).toMatchObject({
      gym_license_approved: false,
      gym_license_rejection_reason: 'Really no',
    });
    await put(id, operator(), { gym_license_rejection_reason: null });
    expect((await read(id)).gym_license_rejection_reason).toBeNull();
    expect(await reviews(id)).toHaveLength(1);
  });

  test.each([true, false, null])(
    'a reason alone is stored while the review is %p, cleared by null, and notifies nobody',
    async (approved) => {
      const id = await harness.createGym(member(30));
      await put(id, operator(), { gym_license_approved: approved });
      const before = (await reviews(id)).length;
      const answer = await put(id, operator(), { gym_license_rejection_reason: 'Blurred' });
      const shown = (reason: string | null) => ({
        gym_license_approved: approved,
        gym_license_rejection_reason: reason,
      });
      expect([answer.status, answer.body.gym]).toMatchObject([200, shown('Blurred')]);
      expect(await read(id)).toMatchObject(shown('Blurred'));
      const cleared = await put(id, operator(), { gym_license_rejection_reason: null });
      expect([cleared.status, cleared.body.gym]).toMatchObject([200, shown(null)]);
      expect(await reviews(id)).toHaveLength(before);
    },
  );

  test.each([
    ['an approval', { gym_license_approved: true, gym_license_rejection_reason: 'Blurred' }, null],
    ['a reset', { gym_license_approved: null, gym_license_rejection_reason: 'Blurred' }, null],
    ['an approval and empty', { gym_license_approved: true, gym_license_rejection_reason: '' }, null],
    ['a rejection and empty', { gym_license_approved: false, gym_license_rejection_reason: '' }, 'Older'],
    ['a cleared document', { gym_license_image: null, gym_license_rejection_reason: 'Blurred' }, null],
    ['another field and empty', { name: 'Changed', gym_license_rejection_reason: ' ' }, 'Older'],
  ])('a reason sent with %s is dropped', async (_name, body, expected) => {
    const id = await harness.createGym(member(30));
    await put(id, operator(), { gym_license_approved: false, gym_license_rejection_reason: 'Older' });
    const { status, body: answered } = await put(id, operator(), body);
    expect([status, answered.gym.gym_license_rejection_reason]).toEqual([200, expected]);
    expect((await read(id)).gym_license_rejection_reason).toBe(expected);
  });

  test('an empty reason alone changes nothing, and needs only the permission to review', async () => {
    const id = await harness.createGym(member(30));
    await put(id, operator(), { gym_license_approved: false, gym_license_rejection_reason: 'Older' });
    const before = await stored(id);
    for (const gym_license_rejection_reason of ['', ' \n']) {
      const answer = await put(id, holder(15, 'gyms.approve_license'), { gym_license_rejection_reason });
      expect(answer.status).toBe(200);
    }
    expect(await stored(id)).toEqual(before);
  });

  test('a reason that was stored alone belongs to the next rejection', async () => {
    const id = await harness.createGym(member(30));
    await put(id, operator(), { gym_license_rejection_reason: 'Blurred' });
    await put(id, operator(), { gym_license_approved: false });
    expect(await reviews(id)).toMatchObject([{ approved: false, rejection_reason: 'Blurred' }]);
  });

  test('a transfer with an approval notifies the new owner', async () => {
    const id = await harness.createGym(member(30));
    await put(id, operator(), { user_id: 31, gym_license_approved: true });
    expect(await reviews(id)).toMatchObject([{ owner_user_id: 31, approved: true }]);
  });

  test('a review of a gym without an owner notifies nobody', async () => {
    const id = await harness.createGym(member(30));
    await put(id, operator(), { user_id: null, gym_license_approved: true });
    expect((await read(id)).gym_license_approved).toBe(true);
    expect(await reviews(id)).toEqual([]);
  });
});

describe('reviews that name their document', () => {
  const REJECTION = { gym_license_approved: false, gym_license_rejection_reason: 'No' };

  test('a review applies to the document that it names', async () => {
    const id = await harness.createGym(member(33));
    await attach(id, 550);
    expect((await read(id)).gym_license_link).toBe('/api/v1/media/550/license.pdf');
    const answer = await put(id, operator(), { ...REJECTION, gym_license_media_id: 550 });
    expect([answer.status, answer.body.gym.gym_license_approved]).toEqual([200, false]);
  });

  test.each([
    ['a review', REJECTION],
    ['a clearing', { gym_license_image: null }],
  ])(
    '%s of a replaced document is rejected with 409 license_replaced, and changes nothing',
    async (_name, body) => {
      const id = await harness.createGym(member(33));
      await attach(id, 560);
      await attach(id, 561, 'never-reviewed.pdf');
      const before = await stored(id);
      for (const [locale, text] of [
        ['en', 'This license document has been replaced. Open the current one and review that one instead.'],
        ['fa', 'مدرک دیگری جایگزین این مدرک مجوز شده است. مدرک فعلی را باز کنید و همان را بررسی کنید.'],
      ] as const) {
        const sent = { ...body, gym_license_media_id: 560, name: 'Never' };
        const answer = await put(id, operator(), sent, { 'accept-language': locale });
        expect([answer.status, answer.body]).toEqual([409, { message: text, code: 'license_replaced' }]);
      }
      expect(await stored(id)).toEqual(before);
      expect(harness.standIns.calls.map(({ method }) => method)).not.toContain('DeleteByPurpose');
      expect(await reviews(id)).toEqual([]);
    },
  );

  test('a review is rejected with 409 when its document was deleted, or when a first one was uploaded', async () => {
    const id = await harness.createGym(member(33));
    const approve = async (mediaId: number | null) =>
      (await put(id, operator(), { gym_license_approved: true, gym_license_media_id: mediaId })).status;
    expect(await approve(570)).toBe(409);
    await attach(id, 570);
    expect(await approve(null)).toBe(409);
    expect((await read(id)).gym_license_approved).toBeNull();
    await put(id, member(33), { gym_license_image: null });
    expect(await approve(570)).toBe(409);
    expect(await approve(null)).toBe(200);
  });

  test('permission and existence of the gym are checked before the document of a review', async () => {
    const id = await harness.createGym(member(33));
    const body = { ...REJECTION, gym_license_media_id: 580 };
    expect((await put(id, member(33), body)).status).toBe(403);
    expect((await put(987_654_321, operator(), body)).status).toBe(404);
    const wrong = await put(id, operator(), { ...REJECTION, gym_license_media_id: 'x' });
    expect([wrong.status, Object.keys(wrong.body.errors)]).toEqual([422, ['gym_license_media_id']]);
  });
});

describe('clearing the license document', () => {
  test('clearing a license resets both review fields, and media is asked to delete the document', async () => {
    const id = await harness.createGym(member(32));
    await attach(id, 500);
    await put(id, operator(), { gym_license_approved: false, gym_license_rejection_reason: 'No' });
    const answer = await put(id, member(32), { gym_license_image: null });
    expect(answer.body.gym).toMatchObject({
      gym_license_image: null,
      gym_license_link: null,
      gym_license_approved: null,
      gym_license_rejection_reason: null,
    });
    const target = { attachable_type: 'App\\Models\\Gyms\\Gym', attachable_id: id };
    expect(harness.standIns.calls).toContainEqual({
      method: 'DeleteByPurpose',
      request: expect.objectContaining({ target, purpose: 'gym_license', up_to_media_id: 500 }),
    });
    await put(id, operator(), { description: 'settled' });
    await settle(id);
    expect(eventsOf(id, 'gyms.gym.license_cleared').map((event) => event.data)).toEqual([
      { gym_id: id, media_id: 500 },
    ]);
  });

  test('clearing a license succeeds while media is down, and publishes the event', async () => {
    const id = await harness.createGym(member(32));
    await attach(id, 501);
    harness.standIns.up.media = false;
    expect((await put(id, member(32), { gym_license_image: null })).status).toBe(200);
    await harness.tap.waitFor('gyms.gym.license_cleared', {
      matches: (event) => event.subject === String(id),
    });
  });

  test('clearing a license wins over review fields of the same request, and notifies nobody', async () => {
    const id = await harness.createGym(member(32));
    await attach(id, 502);
    const body = { gym_license_image: null, gym_license_approved: false, gym_license_rejection_reason: 'No' };
    expect((await put(id, operator(), body)).status).toBe(200);
    expect(await read(id)).toMatchObject({
      gym_license_image: null,
      gym_license_approved: null,
      gym_license_rejection_reason: null,
    });
    expect(await reviews(id)).toEqual([]);
  });

  test('clearing a license without a document deletes nothing and resets the review', async () => {
    const id = await harness.createGym(member(32));
    await put(id, operator(), { gym_license_approved: true });
    expect((await put(id, member(32), { gym_license_image: null })).status).toBe(200);
    expect((await read(id)).gym_license_approved).toBeNull();
    await put(id, operator(), { description: 'settled' });
    await settle(id);
    expect(eventsOf(id, 'gyms.gym.license_cleared')).toEqual([]);
    expect(harness.standIns.calls.map((call) => call.method)).not.toContain('DeleteByPurpose');
  });
});

describe('races', () => {
  test('twenty concurrent updates of different fields all survive, each with a separate version', async () => {
    const id = await harness.createGym(member(40));
    const bodies = [
      { name: 'N' },
      { address: 'A' },
      { description: 'D' },
      { location_lat: 1 },
      { location_lng: 2 },
      { is_active: false },
      { show_crowd: true },
      { city_id: 3 },
      { major_ids: '4' },
      { gym_license_approved: false, gym_license_rejection_reason: 'R' },
    ];
    const sent = Array.from({ length: 20 }, (_, index) => bodies[index % bodies.length]);
    const answers = await Promise.all(sent.map((body) => put(id, operator(), body)));
    expect(answers.map((answer) => answer.status)).toEqual(Array(20).fill(200));
    expect(await read(id)).toMatchObject({
      name: 'N',
      address: 'A',
      description: 'D',
      location_lat: 1,
      location_lng: 2,
      is_active: false,
      show_crowd: true,
      city: { id: 3 },
      majors: [{ id: 4 }],
      gym_license_approved: false,
      gym_license_rejection_reason: 'R',
    });
    expect((await stored(id))?.version).toBe(21);
    await settle(id);
    expect(eventsOf(id, 'gyms.gym.changed').map((event) => event.aggregateversion)).toEqual(
      Array.from({ length: 21 }, (_, index) => index + 1),
    );
    expect(await reviews(id)).toHaveLength(1);
  });

  test('twenty concurrent approvals notify the owner once', async () => {
    const id = await harness.createGym(member(41));
    await Promise.all(Array.from({ length: 20 }, () => put(id, operator(), { gym_license_approved: true })));
    expect(await reviews(id)).toHaveLength(1);
  });

  test('the transfer that is published last is the one that is stored', async () => {
    const id = await harness.createGym(member(42));
    const answers = await Promise.all([43, 44].map((owner) => put(id, operator(), { user_id: owner })));
    expect(answers.map((answer) => answer.status)).toEqual([200, 200]);
    await settle(id);
    const owners = eventsOf(id, 'gyms.gym.changed').map(
      (event) => (event.data as { user_id: number }).user_id,
    );
    expect(new Set(owners.slice(1))).toEqual(new Set([43, 44]));
    expect((await read(id)).user_id).toBe(owners[2]);
  });

  test('exactly one of twenty concurrent transfers by the owner succeeds', async () => {
    const owner = holder(45, 'gyms.create', 'gyms.update', 'gyms.transfer_ownership');
    const id = await harness.createGym(owner);
    const answers = await Promise.all(
      Array.from({ length: 20 }, (_, index) => put(id, owner, { user_id: 100 + index, name: 'Sold' })),
    );
    const statuses = answers.map((answer) => answer.status);
    expect(statuses.filter((status) => status === 200)).toHaveLength(1);
    expect(new Set(statuses)).toEqual(new Set([200, 403]));
  });

  test('a gym transferred to an account during its erasure has no owner', async () => {
    const ids = await Promise.all(Array.from({ length: 8 }, () => harness.createGym(member(46))));
    const subject = 199;
    await Promise.all([
      harness.publish(accountDeleted, {
        subject,
        data: { user_id: subject, deleted_at: '2026-01-15 10:00:00' },
      }),
      ...ids.map((id, index) =>
        new Promise((resolve) => setTimeout(resolve, index * 15)).then(() =>
          put(id, operator(), { user_id: subject }),
        ),
      ),
    ]);
    await eventually(async () => (await put(ids[0] ?? 0, operator(), { user_id: subject })).status === 422);
    await eventually(async () => {
      const { applies } = await harness.blockers.call('Evaluate', {
        user_id: subject,
        code: 'gym_ownership',
      });
      return !applies;
    });
  });

  test('an upload during a review that names the old document leaves the new one pending', async () => {
    for (let round = 0; round < 3; round += 1) {
      const id = await harness.createGym(member(47));
      await attach(id, 600 + round * 2);
      await Promise.all([
        put(id, operator(), { gym_license_approved: true, gym_license_media_id: 600 + round * 2 }),
        attach(id, 601 + round * 2, 'new.pdf'),
        harness.publish(mediaAttached, {
          subject: 600 + round * 2,
          data: {
            media_id: 600 + round * 2,
            attachable_type: 'App\\Models\\Gyms\\Gym',
            attachable_id: id,
            purpose: 'gym_license',
            filename: 'license.pdf',
          },
        }),
      ]);
      const { license } = (await stored(id)) as unknown as {
        license: { mediaId: number; approved: boolean | null };
      };
      expect(license).toMatchObject({ mediaId: 601 + round * 2, approved: null });
    }
  });
});
