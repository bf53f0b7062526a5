/** Operator changes to other users’ posts and training services: the audit entry and the effect commit together. */
import { MODEL } from '@fitness/contracts/model-names.ts';
import { accountDeleted } from '@fitness/proto/events/identity.ts';
import { createAuditObserver } from '@fitness/shared/testing/audit.ts';
import { caller, eventually } from '@fitness/shared/testing/harness.ts';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { type Harness, openHarness } from './support.ts';

let harness: Harness;
let observer: ReturnType<typeof createAuditObserver>;

beforeAll(async () => {
  harness = await openHarness({ watched: true });
  observer = createAuditObserver(harness.connection, 'content');
});
afterAll(() => harness.close());

const OWNER = caller(50);
const OPERATOR = caller(1, ['posts.view_all', 'posts.update_any', 'training_services.update_any']);

const kinds = [
  {
    kind: 'post',
    actions: ['post.update', 'post.delete'],
    path: '/posts',
    body: { profile_type: MODEL.user, profile_id: OWNER.userId, title: 'Title', content: 'Content' },
    collection: 'posts',
  },
  {
    kind: 'training_service',
    actions: ['training_service.update', 'training_service.delete'],
    path: '/training-services',
    body: { title: 'Title', description: 'Eight weeks', price: 500_000, duration_days: 56 },
    collection: 'training_services',
  },
];

test.each(kinds)(
  'an operator’s change or deletion of another user’s $kind has an audit entry',
  async ({ kind, actions, path, body, collection }) => {
    const { id } = (await harness.send('POST', path, { as: OWNER, body })).body.data;
    const changed = await observer.observe(() =>
      harness.send('PUT', `${path}/${id}`, { as: OPERATOR, body: { title: 'Better' } }),
    );
    expect(changed.result.status).toBe(200);
    expect(changed.entries).toMatchObject([
      {
        service: 'content',
        actorId: OPERATOR.userId,
        action: actions[0],
        subjectType: kind,
        subjectId: id,
        before: { title: 'Title' },
        after: { title: 'Better' },
      },
    ]);
    expect(changed.written).toContain(collection);
    const same = await observer.observe(() =>
      harness.send('PUT', `${path}/${id}`, { as: OPERATOR, body: { title: 'Better' } }),
    );
    expect([same.result.status, same.entries]).toEqual([200, []]);
    const deleted = await observer.observe(() => harness.send('DELETE', `${path}/${id}`, { as: OPERATOR }));
    expect(deleted.result.status).toBe(204);
    expect(deleted.entries).toMatchObject([
      { action: actions[1], subjectId: id, before: { title: 'Better' }, after: null },
    ]);
    expect(deleted.written).toContain(collection);
  },
);

test.each(kinds)(
  'refused requests and an owner’s changes to their $kind have no audit entry',
  async ({ path, body }) => {
    const { id } = (await harness.send('POST', path, { as: OWNER, body })).body.data;
    const { entries } = await observer.observe(async () => {
      const stranger = caller(60);
      expect(
        (await harness.send('PUT', `${path}/${id}`, { as: stranger, body: { title: 'X' } })).status,
      ).toBe(403);
      expect((await harness.send('PUT', `${path}/${id}`, { as: OPERATOR, body: { title: '' } })).status).toBe(
        422,
      );
      expect(
        (await harness.send('PUT', `${path}/${id}`, { as: OWNER, body: { title: 'Mine' } })).status,
      ).toBe(200);
      expect((await harness.send('DELETE', `${path}/${id}`, { as: OWNER })).status).toBe(204);
    });
    expect(entries).toEqual([]);
  },
);

test('an audit entry of an erased account shows that a text changed, but not the texts', async () => {
  const owner = caller(51);
  const body = { profile_type: MODEL.user, profile_id: owner.userId, title: 'Title', content: 'Content' };
  const { id } = (await harness.send('POST', '/posts', { as: owner, body })).body.data;
  await harness.send('PUT', `/posts/${id}`, { as: OPERATOR, body: { title: 'Better' } });
  const entryOf = async () =>
    (await observer.all()).find((entry) => entry.subjectType === 'post' && entry.subjectId === id);
  expect(await entryOf()).toMatchObject({ before: { title: 'Title' }, after: { title: 'Better' } });
  await harness.publish(accountDeleted, {
    subject: owner.userId,
    version: 4,
    data: { user_id: owner.userId, deleted_at: '2026-01-15 10:00:00' },
  });
  await eventually(async () => typeof (await entryOf())?.after?.title !== 'string');
  expect(await entryOf()).toMatchObject({
    before: { title: { erased: true } },
    after: { title: { erased: true } },
  });
});
