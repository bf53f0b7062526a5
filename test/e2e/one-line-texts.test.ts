/** One rule for every single-line text that is shown to others. */
import { MODEL } from '@fitness/contracts/model-names.ts';
import { OAUTH_PATHS } from '@fitness/contracts/oauth.ts';
import { beforeAll, expect, test } from '@jest/globals';
import { type Account, administratorToken, api, baseUrl, expectStatus, register } from './support.ts';

const PERSIAN = 'می\u200cنا 👨\u200d👩\u200d👧';
const HIDDEN = ['\u200b', '\u200c', '\u2800', '\u3164', '\u202eAli', 'Ali\u2066', 'A\u0007li', ' \u200d '];

let member: Account;
let gymId: number;
let roleId: number;
const place = { name: 'Iron', address: 'Tehran', location_lat: 35.7, location_lng: 51.4 };
beforeAll(async () => {
  member = await register();
  gymId = expectStatus(await api('POST', '/gyms', { token: member.token, body: place }), 201).body.gym.id;
  const roles = expectStatus(await api('GET', '/roles', { token: await administratorToken() }), 200).body;
  roleId = roles.data.find(({ name }: { name: string }) => name === 'operator').id;
});

type Send = (text: string) => Promise<{ status: number; fields: string[] }>;

const sending =
  (method: string, path: () => string, field: string, others: () => object = () => ({})): Send =>
  async (text) => {
    const body = { ...others(), [field]: text };
    const { status, body: answer } = await api(method, path(), { token: member.token, body });
    return { status, fields: Object.keys(answer.errors ?? {}) };
  };

const titled = { description: 'd', price: 5, duration_days: 1 };
const post = () => ({ profile_type: MODEL.user, profile_id: member.id, content: 'c', is_draft: true });

const FIELDS: [name: string, field: string, send: Send][] = [
  ['first name', 'first_name', sending('PUT', () => '/auth/me', 'first_name')],
  ['last name', 'last_name', sending('PUT', () => '/auth/me', 'last_name')],
  [
    'name of a new gym',
    'name',
    sending(
      'POST',
      () => '/gyms',
      'name',
      () => place,
    ),
  ],
  ['name of a gym', 'name', sending('PUT', () => `/gyms/${gymId}`, 'name')],
  ['address of a gym', 'address', sending('PUT', () => `/gyms/${gymId}`, 'address')],
  ['title of a post', 'title', sending('POST', () => '/posts', 'title', post)],
  [
    'title of a training service',
    'title',
    sending(
      'POST',
      () => '/training-services',
      'title',
      () => titled,
    ),
  ],
  ['name of a token', 'name', sending('POST', () => '/auth/tokens', 'name')],
];

test.each(FIELDS)(
  'the %s needs a visible character and cannot change the text direction',
  async (_name, field, send) => {
    for (const text of HIDDEN) {
      expect([JSON.stringify(text), await send(text)]).toEqual([
        JSON.stringify(text),
        { status: 422, fields: [field] },
      ]);
    }
    expect((await send(PERSIAN)).status).toBeLessThan(300);
  },
);

test('the title of a role needs a visible character and cannot change the text direction', async () => {
  const token = await administratorToken();
  for (const title of HIDDEN) {
    const answer = await api('PUT', `/roles/${roleId}`, { token, body: { title } });
    expect([JSON.stringify(title), answer.status]).toEqual([JSON.stringify(title), 422]);
  }
});

test('the address of a gym may have several lines', async () => {
  const body = { address: 'Valiasr 12\nTehran' };
  const answer = await api('PUT', `/gyms/${gymId}`, { token: member.token, body });
  expect(expectStatus(answer, 200).body.gym.address).toBe(body.address);
});

test('the name of an OAuth client needs a visible character, and may join emoji', async () => {
  const registered = async (name: string): Promise<number> => {
    const response = await fetch(`${baseUrl()}${OAUTH_PATHS.register}`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ client_name: name, redirect_uris: ['https://client.example/'] }),
    });
    return response.status;
  };
  for (const name of HIDDEN) expect([name, await registered(name)]).toEqual([name, 400]);
  expect(await registered(PERSIAN)).toBe(201);
});

test('the description of a payment cannot change the text direction, and may be empty', async () => {
  const deposit = async (description: string): Promise<number> => {
    const body = { amount: 50_000, description };
    return (await api('POST', '/payments/deposit', { token: member.token, body })).status;
  };
  for (const text of ['\u202egnp', '\u200b', '\u2800'])
    expect([text, await deposit(text)]).toEqual([text, 422]);
  for (const text of ['', PERSIAN, 'two\nlines']) expect([text, await deposit(text)]).toEqual([text, 201]);
});
