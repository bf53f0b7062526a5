/** What operators do with others' files is in the audit log. A document whose view cannot be recorded is not shown. */
import { accountDeleted } from '@fitness/proto/events/identity.ts';
import { createAuditObserver } from '@fitness/shared/testing/audit.ts';
import { eventually } from '@fitness/shared/testing/harness.ts';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { GYM, type Harness, holder, OWNER, openHarness, STRANGER, userTarget, VIEWER } from './support.ts';

let harness: Harness;
let observer: ReturnType<typeof createAuditObserver>;

beforeAll(async () => {
  harness = await openHarness({}, {}, { monitored: true });
  observer = createAuditObserver(harness.connection, 'media');
});
afterAll(() => harness.close());

const documents = [
  ['gym_license', GYM],
  ['trainer_license', userTarget(OWNER.userId)],
] as const;

const documentOf = async (purpose: string, target: Record<string, string | number>): Promise<number> =>
  (await harness.upload(OWNER, { ...target, purpose })).body.data.id;

test.each(documents)('every view of another user’s %s has an audit entry', async (purpose, target) => {
  const id = await documentOf(purpose, target);
  for (const method of ['GET', 'HEAD']) {
    const { result, entries } = await observer.observe(() =>
      harness.download(VIEWER, id, { 'x-request-id': `view-${id}` }, method),
    );
    expect(result.status).toBe(200);
    expect(entries).toMatchObject([
      {
        service: 'media',
        actorId: VIEWER.userId,
        action: 'document.view',
        subjectType: 'media',
        subjectId: id,
        requestId: `view-${id}`,
        before: null,
        after: { ...target, purpose },
      },
    ]);
  }
});

test('views by the owner, refused views and views of public files have no entry', async () => {
  const id = await documentOf('gym_license', GYM);
  const file = (await harness.upload(OWNER, harness.newGym())).body.data.id;
  const { entries } = await observer.observe(async () => {
    expect((await harness.download(OWNER, id)).status).toBe(200);
    expect((await harness.download(STRANGER, id)).status).toBe(403);
    expect((await harness.download(VIEWER, file)).status).toBe(200);
  });
  expect(entries).toEqual([]);
});

test('a document is not shown while its view cannot be recorded', async () => {
  const id = await documentOf('trainer_license', userTarget(OWNER.userId));
  const sequences = harness.connection.collection<{ _id: string; value: unknown }>('audit_sequences');
  await observer.observe(() => harness.download(VIEWER, id));
  const counter = await sequences.findOne({ _id: 'audit' });
  await sequences.updateOne({ _id: 'audit' }, { $set: { value: 'not a number' } });
  const { result, entries } = await observer.observe(() => harness.download(VIEWER, id));
  await sequences.updateOne({ _id: 'audit' }, { $set: { value: counter?.value } });
  expect([result.status, entries]).toEqual([500, []]);
  expect(result.headers.get('content-disposition')).toBeNull();
  expect((await harness.download(VIEWER, id)).status).toBe(200);
});

test('an upload to another owner’s gym and its deletion have an entry each', async () => {
  const operator = holder(30, 'gyms.update_any');
  const target = harness.newGym();
  const uploaded = await observer.observe(() => harness.upload(operator, target));
  expect(uploaded.result.status).toBe(201);
  const { id } = uploaded.result.body.data;
  expect(uploaded.entries).toMatchObject([
    {
      action: 'media.upload',
      actorId: 30,
      subjectId: id,
      before: null,
      after: { filename: 'a.png', ...target },
    },
  ]);
  expect(uploaded.written).toContain('media');
  const deleted = await observer.observe(() => harness.send('DELETE', `/media/${id}`, { as: operator }));
  expect(deleted.result.status).toBe(204);
  expect(deleted.entries).toMatchObject([
    { action: 'media.delete', actorId: 30, subjectId: id, before: { filename: 'a.png' }, after: null },
  ]);
  expect(deleted.written).toContain('media');
});

test('the event of a document that an operator deletes says so, and the owner can be notified', async () => {
  const editors = [
    ['gym_license', GYM, holder(30, 'gyms.update_any')],
    ['trainer_license', userTarget(OWNER.userId), holder(30, 'users.update_any')],
  ] as const;
  for (const [purpose, target, operator] of editors) {
    for (const as of [OWNER, operator]) {
      const id = await documentOf(purpose, target);
      expect((await harness.send('DELETE', `/media/${id}`, { as })).status).toBe(204);
      const { data } = await harness.tap.waitFor('media.media.deleted', {
        matches: ({ subject }) => subject === String(id),
      });
      const { by_operator } = data as { by_operator?: boolean };
      expect([purpose, by_operator]).toEqual([purpose, as === operator ? true : undefined]);
    }
  }
});

test('an entry shows after an erasure that there was a file name, but not which', async () => {
  const ownerId = 77;
  const target = { ...GYM, attachable_id: 770 };
  harness.stubs.gyms.set(target.attachable_id, { active: true, ownerId });
  const { result } = await observer.observe(() => harness.upload(holder(30, 'gyms.update_any'), target));
  const entryOf = async () =>
    (await observer.all()).find(({ subjectId }) => subjectId === result.body.data.id);
  expect((await entryOf())?.after?.filename).toBe('a.png');
  await harness.publish(accountDeleted, {
    subject: ownerId,
    data: { user_id: ownerId, deleted_at: '2026-01-15 10:00:00' },
  });
  await eventually(async () => typeof (await entryOf())?.after?.filename !== 'string');
  expect((await entryOf())?.after?.filename).toEqual({ erased: true });
});

test('refused requests and what owners do with their files have no entry', async () => {
  const target = harness.newGym();
  const { entries } = await observer.observe(async () => {
    expect((await harness.upload(STRANGER, target)).status).toBe(403);
    const { id } = (await harness.upload(OWNER, target)).body.data;
    expect((await harness.send('DELETE', `/media/${id}`, { as: STRANGER })).status).toBe(403);
    expect((await harness.send('DELETE', `/media/${id}`, { as: OWNER })).status).toBe(204);
  });
  expect(entries).toEqual([]);
});
