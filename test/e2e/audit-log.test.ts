/** Operator actions in several services, in one list through the gateway. */
import { expect, test } from '@jest/globals';
import { administratorToken, api, expectStatus, register } from './support.ts';

interface Entry {
  action: string;
  service: string;
  subject_id: number;
  request_id: string;
  before: Record<string, unknown> | null;
  after: Record<string, unknown> | null;
}

test("the audit log shows an administrator's actions in two services, even after an erasure", async () => {
  const token = await administratorToken();
  const { id: actor } = expectStatus(await api('GET', '/auth/me', { token }), 200).body.user;
  const member = await register();
  const place = { name: 'Iron', address: 'Street 1', location_lat: 35.7, location_lng: 51.4 };
  const gym = expectStatus(await api('POST', '/gyms', { token: member.token, body: place }), 201).body.gym.id;
  const headers = { 'x-request-id': `audit-${member.id}` };
  expectStatus(
    await api('PUT', `/users/${member.id}`, { token, body: { first_name: 'Simin' }, headers }),
    200,
  );
  expectStatus(await api('PUT', `/gyms/${gym}`, { token, body: { name: 'Steel' }, headers }), 200);
  expectStatus(await api('DELETE', `/gyms/${gym}`, { token, headers }), 204);
  const mine = async (): Promise<Entry[]> => {
    const answer = expectStatus(await api('GET', `/audit-log?actor_id=${actor}`, { token }), 200);
    return answer.body.data.filter((entry: Entry) => entry.request_id === headers['x-request-id']);
  };
  expect(new Set((await mine()).map(({ service, action }) => `${service} ${action}`))).toEqual(
    new Set(['gyms gym.delete', 'gyms gym.update', 'identity user.update']),
  );
  expectStatus(await api('DELETE', `/users/${member.id}`, { token, headers }), 204);
  const update = (await mine()).find(({ action }) => action === 'user.update');
  expect(update).toMatchObject({ subject_id: member.id, after: { first_name: { erased: true } } });
  expect((await api('GET', '/audit-log', { token: member.token })).status).toBe(401);
  const other = await register();
  expect((await api('GET', '/audit-log', { token: other.token })).status).toBe(403);
});
