/** Reviews, transfers, and what operators do to others' gyms are recorded in the audit log with their effect, or not at all. */
import { accountDeleted } from '@fitness/proto/events/identity.ts';
import { createAuditObserver } from '@fitness/shared/testing/audit.ts';
import { eventually } from '@fitness/shared/testing/harness.ts';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { type Harness, member, openHarness, operator } from './support.ts';

let harness: Harness;
let observer: ReturnType<typeof createAuditObserver>;
let nextOwner = 100;

beforeAll(async () => {
  harness = await openHarness({ watched: true });
  observer = createAuditObserver(harness.connection, 'gyms');
});
afterAll(() => harness.close());

const gymOf = async () => {
  nextOwner += 1;
  const owner = member(nextOwner);
  const id = await harness.createGym(owner);
  await harness.gyms.call('AttachLicense', { gym_id: id, media_id: id * 10, filename: 'license.pdf' });
  return { owner, id };
};
const put = (id: number, body: unknown, as = operator()) => harness.send('PUT', `/gyms/${id}`, { as, body });

test('a review and a change of other fields in one request have one audit entry each', async () => {
  const { id } = await gymOf();
  const body = { name: 'Iron', gym_license_approved: false, gym_license_rejection_reason: 'Not legible' };
  const { result, entries, written } = await observer.observe(() => put(id, body));
  expect(result.status).toBe(200);
  expect(entries).toMatchObject([
    {
      service: 'gyms',
      actorId: operator().userId,
      action: 'gym.update',
      subjectType: 'gym',
      subjectId: id,
      before: { name: 'Gym' },
      after: { name: 'Iron' },
    },
    {
      action: 'gym_license.review',
      before: { 'license.approved': null, 'license.rejectionReason': null },
      after: { 'license.approved': false, 'license.rejectionReason': 'Not legible' },
    },
  ]);
  expect(written).toContain('gyms');
});

test('clearing a license, a transfer, working periods, the crowd and a deletion have one entry each', async () => {
  const { id, owner } = await gymOf();
  const cleared = await observer.observe(() => put(id, { gym_license_image: null }));
  expect(cleared.entries).toMatchObject([
    { action: 'gym_license.review', before: { 'license.image': 'license.pdf' } },
  ]);
  const transferred = await observer.observe(() => put(id, { user_id: 55 }));
  expect(transferred.entries).toMatchObject([
    { action: 'gym.update', before: { ownerId: owner.userId }, after: { ownerId: 55 } },
  ]);
  const as = operator();
  const periods = [{ weekday: 0, opens_at: '08:00', closes_at: '20:00' }];
  const requests = [
    ['PUT', `/gyms/${id}/working-periods`, { working_periods: periods }, 'gym.update'],
    ['PUT', `/gyms/${id}/crowd`, { current: 5, capacity: 50 }, 'gym.update'],
    ['DELETE', `/gyms/${id}`, undefined, 'gym.delete'],
  ] as const;
  for (const [method, path, body, action] of requests) {
    const { result, entries, written } = await observer.observe(() =>
      harness.send(method, path, { as, body }),
    );
    expect([result.status < 300, entries.map((entry) => entry.action)]).toEqual([true, [action]]);
    expect(written).toContain('gyms');
  }
});

test('repeating a verdict for a new name is recorded as a review, and the renaming is not', async () => {
  const { id } = await gymOf();
  const verdict = { gym_license_approved: true };
  await put(id, verdict);
  const renamed = await observer.observe(() => put(id, { name: 'Iron' }));
  expect(renamed.entries.map(({ action }) => action)).toEqual(['gym.update']);
  const { entries } = await observer.observe(() => put(id, verdict));
  expect(entries).toMatchObject([
    {
      action: 'gym_license.review',
      before: { 'license.reviewedName': 'Gym' },
      after: { 'license.reviewedName': null },
    },
  ]);
});

test('refusals, unchanged values and owners’ changes have no entry; an operator’s own review has one', async () => {
  const { id, owner } = await gymOf();
  const { entries } = await observer.observe(async () => {
    expect((await put(id, { name: 'X' }, member(999))).status).toBe(403);
    expect((await put(id, { user_id: 4_000 })).status).toBe(422);
    expect((await put(id, { gym_license_approved: true, gym_license_media_id: 1 })).status).toBe(409);
    expect((await put(id, { name: 'Gym' })).status).toBe(200);
    expect((await put(id, { name: 'Mine', gym_license_image: null }, owner)).status).toBe(200);
    const body = { current: 1, capacity: 9 };
    expect((await harness.send('PUT', `/gyms/${id}/crowd`, { as: owner, body })).status).toBe(200);
  });
  expect(entries).toEqual([]);
  const own = operator(nextOwner);
  const reviewed = await observer.observe(() => put(id, { gym_license_approved: false }, own));
  expect(reviewed.entries.map(({ action }) => action)).toEqual(['gym_license.review']);
});

test('an erasure of the owner removes the review of their license from the log', async () => {
  const { id, owner } = await gymOf();
  await put(id, { gym_license_approved: false, gym_license_rejection_reason: 'The name differs' });
  await harness.publish(accountDeleted, {
    subject: owner.userId,
    data: { user_id: owner.userId, deleted_at: '2026-01-15 10:00:00' },
  });
  const entry = await eventually(async () => {
    const match = (await observer.all()).find(({ subjectId }) => subjectId === id);
    return typeof match?.after?.['license.rejectionReason'] === 'object' && match;
  });
  expect(entry.after).toMatchObject({ 'license.rejectionReason': { erased: true } });
});
