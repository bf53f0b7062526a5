/**
 * Contract 2.2, end to end: a person leaves marks wherever a field, a text or a file takes one, and is erased when the
 * grace period is over. What is left of the marks anywhere is listed here, with the reason.
 */
import { randomInt } from 'node:crypto';
import { connectBroker } from '@fitness/shared/events/broker.ts';
import { createLog } from '@fitness/shared/log.ts';
import { MODEL } from '@fitness/shared/models.ts';
import type { Answer } from '@fitness/shared/testing/harness.ts';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { remainsOf } from './remains.ts';
import {
  type Account,
  administratorToken,
  api,
  balanceOf,
  baseUrl,
  deposit,
  eventually,
  expectStatus,
  login,
  PNG,
  register,
  scheduleDeletion,
  stack,
} from './support.ts';

const run = randomInt(36 ** 5, 36 ** 6).toString(36);
const marked = (name: string): string => `mark${name}${run}`.toLowerCase();
const digits = (length: number): string => Array.from({ length }, () => String(randomInt(10))).join('');

const MARKS = {
  username: marked('username'),
  email: marked('email'),
  phone: `912${digits(7)}`,
  firstName: marked('firstname'),
  lastName: marked('lastname'),
  bankAccount: marked('bank'),
  tokenName: marked('token'),
  licenceFilename: marked('licence'),
  licenceReason: marked('licencereason'),
  pictureFilename: marked('picture'),
  fileContent: marked('content'),
  postTitle: marked('posttitle'),
  postText: marked('posttext'),
  postFilename: marked('postfile'),
  serviceTitle: marked('servicetitle'),
  serviceText: marked('servicetext'),
  depositText: marked('deposit'),
  withdrawalText: marked('withdrawal'),
  idempotencyKey: marked('key'),
  gymName: marked('gymname'),
  gymAddress: marked('gymaddress'),
  gymFilename: marked('gymfile'),
  gymReason: marked('gymreason'),
  searched: marked('searched'),
  parkedFilename: marked('parked'),
} as const;

/** Never stored as they were given, from the beginning on. */
const NEVER_STORED: readonly (keyof typeof MARKS)[] = ['idempotencyKey', 'searched'];

/** What outlives the account, and why. */
const RETAINED: Record<string, string> = {
  'mongodb content.trainees.title: serviceTitle': 'the buyer keeps what he has bought, by its name',
  'mongodb content.idempotency_keys.reply: serviceTitle':
    'the answer to the buyer’s purchase, for the 24 hours of his key',
  'mongodb wallet.payments.description: serviceTitle': 'so does his own payment say what it was for',
};

const GRACE = { DELETION_GRACE_DAYS: '0.00003', PURGE_INTERVAL_MS: '300' };

let person: Account;
let buyer: Account;
let administrator: string;

const keyed = (what: string) => ({ 'idempotency-key': `${MARKS.idempotencyKey}-${what}` });
const send = (method: string, path: string, body?: unknown, headers: Record<string, string> = {}) =>
  api(method, path, { token: person.token, body, headers });

const upload = async (
  target: { type: string; id: number; purpose?: string },
  name: string,
): Promise<number> => {
  const form = new FormData();
  form.set('attachable_type', target.type);
  form.set('attachable_id', String(target.id));
  if (target.purpose !== undefined) form.set('purpose', target.purpose);
  form.set('file', new Blob([PNG, MARKS.fileContent, name]), `${name}.png`);
  const response = await fetch(`${baseUrl()}/api/v1/media`, {
    method: 'POST',
    headers: { authorization: `Bearer ${person.token}` },
    body: form,
  });
  if (response.status !== 201) throw new Error(`upload: ${response.status} ${await response.text()}`);
  return ((await response.json()) as { data: { id: number } }).data.id;
};

const leaveProfile = async (): Promise<void> => {
  const profile = {
    bank_account_number: MARKS.bankAccount,
    height: 171,
    birth_date: '1971-03-04',
    is_trainer: true,
  };
  expectStatus(await send('PUT', '/auth/me', profile), 200);
  expectStatus(await send('POST', '/auth/tokens', { name: MARKS.tokenName }), 201);
  await upload({ type: MODEL.user, id: person.id }, MARKS.pictureFilename);
  await upload({ type: MODEL.user, id: person.id, purpose: 'trainer_license' }, MARKS.licenceFilename);
  const review = { trainer_license_approved: false, trainer_license_rejection_reason: MARKS.licenceReason };
  expectStatus(await api('PUT', `/users/${person.id}`, { token: administrator, body: review }), 200);
  expectStatus(await send('GET', `/users?search=${MARKS.searched}`), 200);
  expect((await login(MARKS.username, MARKS.searched)).status).toBe(422);
};

const leavePosts = async (): Promise<void> => {
  for (const is_draft of [false, true]) {
    const post = {
      profile_type: MODEL.user,
      profile_id: person.id,
      title: MARKS.postTitle,
      content: MARKS.postText,
      is_draft,
    };
    const { data } = expectStatus(await send('POST', '/posts', post), 201).body;
    await upload({ type: MODEL.post, id: data.id }, MARKS.postFilename);
  }
};

/** A gym of his own, reviewed; it stands in the way of the deletion, so that it goes before. */
const leaveGym = async (): Promise<void> => {
  const gym = { name: MARKS.gymName, address: MARKS.gymAddress, location_lat: 35.7, location_lng: 51.4 };
  const made = expectStatus(await send('POST', '/gyms', gym), 201).body.gym;
  await upload({ type: MODEL.gym, id: made.id, purpose: 'gym_license' }, MARKS.gymFilename);
  const review = { gym_license_approved: false, gym_license_rejection_reason: MARKS.gymReason };
  expectStatus(await api('PUT', `/gyms/${made.id}`, { token: administrator, body: review }), 200);
  await eventually(async () => {
    const { body } = await send('GET', '/notifications');
    return body.data.some(({ type }: { type: string }) => type === 'gym_license_reviewed');
  });
  expectStatus(await send('DELETE', `/gyms/${made.id}`), 204);
};

/** A sale that is delivered and paid out: all the kinds of payments, each with its text. */
const leaveMoney = async (): Promise<void> => {
  const asked = { amount: 5_000, description: MARKS.depositText };
  expectStatus(await send('POST', '/payments/deposit', asked, keyed('deposit')), 201);
  const other = { title: 'Somebody else’s', description: 'Six weeks.', price: 10_000, duration_days: 30 };
  const offered = await api('POST', '/training-services', { token: buyer.token, body: other });
  await deposit(person.token, other.price);
  const path = `/training-services/${expectStatus(offered, 201).body.data.id}/purchase`;
  expectStatus(await send('POST', path, undefined, keyed('bought')), 201);
  const service = {
    title: MARKS.serviceTitle,
    description: MARKS.serviceText,
    price: 50_000,
    duration_days: 30,
  };
  const { data } = expectStatus(await send('POST', '/training-services', service), 201).body;
  await deposit(buyer.token, 100_000);
  const bought = await api('POST', `/training-services/${data.id}/purchase`, {
    token: buyer.token,
    headers: keyed('sold'),
  });
  expectStatus(await send('POST', `/trainees/${expectStatus(bought, 201).body.data.id}/deliver`), 200);
  const income = await eventually(async () => (await balanceOf(person.token)) || undefined);
  const withdrawal = { amount: income, description: MARKS.withdrawalText };
  const { payment } = expectStatus(
    await send('POST', '/payments/withdrawals', withdrawal, keyed('withdrawal')),
    201,
  ).body;
  expectStatus(await api('POST', `/payments/${payment.id}/pay`, { token: administrator }), 200);
};

/** An event about a file of his that no service can handle: it is parked for an operator. */
const leaveParkedEvent = async (): Promise<void> => {
  const { EVENTS_NAMESPACE: namespace = '' } = stack().part('identity').environment;
  const log = createLog({ service: 'e2e', level: 'silent' });
  const broker = await connectBroker({ url: stack().describe().servers.AMQP_URL, namespace, log });
  const event = {
    specversion: '1.0',
    id: crypto.randomUUID(),
    source: '/services/media',
    type: 'media.media.attached',
    subject: `parked ${person.id}`,
    time: '2026-01-15T10:00:00.000Z',
    datacontenttype: 'application/json',
    aggregateversion: 1,
    data: { attachable_type: MODEL.user, attachable_id: person.id, filename: MARKS.parkedFilename },
  };
  await broker.publish(broker.eventsExchange, event.type, Buffer.from(JSON.stringify(event)));
  await broker.close();
};

const rateSomeGym = async (): Promise<void> => {
  const { data } = expectStatus(await api('GET', '/gyms'), 200).body;
  expectStatus(await send('PUT', `/gyms/${data[0].id}/rating`, { score: 5 }), 200);
};

beforeAll(async () => {
  await stack().restart('identity', GRACE);
  administrator = await administratorToken();
  person = await register({
    username: MARKS.username,
    email: `${MARKS.email}@example.com`,
    phone: `+98${MARKS.phone}`,
    first_name: MARKS.firstName,
    last_name: MARKS.lastName,
  });
  buyer = await register();
  await leaveProfile();
  await leavePosts();
  await leaveGym();
  await leaveMoney();
  await leaveParkedEvent();
  await rateSomeGym();
}, 120_000);

afterAll(() => stack().restart('identity'), 60_000);

test('the search looks into every kind of place', async () => {
  const places = [
    'file: word',
    'log of gateway: word',
    'log of wallet: word',
    'mongodb identity.users.email: word',
    'mongodb media.media.filename: word',
    'name of a file: word',
    'queue gyms.dead: word',
    'redis key: budget',
  ];
  const missing = async (): Promise<string[]> => {
    const found = await remainsOf({ word: 'e', budget: ':limit:login:' });
    return places.filter((place) => !found.includes(place));
  };
  await eventually(async () => (await missing()).length === 0).catch(() => undefined);
  expect(await missing()).toEqual([]);
});

describe('a person who has left marks everywhere', () => {
  test('is found everywhere before', async () => {
    const expected = Object.keys(MARKS).filter((name) => !(NEVER_STORED as readonly string[]).includes(name));
    const foundMarks = await eventually(async () => {
      const remains = await remainsOf(MARKS);
      // The name of the gym lives on in the notification alone; its address went with it.
      const names = new Set(remains.map((line) => line.split(': ').at(-1)));
      const missing = expected.filter(
        (name) => !names.has(name) && name !== 'gymAddress' && name !== 'gymFilename',
      );
      return missing.length === 0 && { remains, names };
    });
    for (const name of NEVER_STORED) expect([...foundMarks.names]).not.toContain(name);
    expect(foundMarks.remains).toEqual(
      expect.arrayContaining([
        'mongodb identity.users.username: username',
        'mongodb identity.login_keys._id: email',
        'mongodb identity.notifications.data: gymReason',
        'mongodb wallet.idempotency_keys.reply: firstName',
        'mongodb content.posts.content: postText',
        'file: fileContent',
        'queue identity.dead: parkedFilename',
        'queue gyms.dead: parkedFilename',
      ]),
    );
    expect(foundMarks.remains.filter((line) => line.startsWith('log of'))).toEqual([]);
    expect(foundMarks.remains.filter((line) => line.startsWith('redis'))).toEqual([]);
  });

  test('is erased when the grace period is over: of the marks only those remain that have a reason', async () => {
    await scheduleDeletion(person);
    await eventually(async () => (await api('GET', `/users/${person.id}`)).status === 404);
    let remains: string[] = [];
    const isClean = async () => {
      remains = await remainsOf(MARKS);
      return remains.every((line) => RETAINED[line] !== undefined);
    };
    await eventually(isClean, { intervalMs: 500 }).catch(() => undefined);
    expect(remains).toEqual(Object.keys(RETAINED).toSorted());
  }, 120_000);

  test('is nobody afterwards: signing in fails like an unknown account, and the books stay well-formed', async () => {
    const unknown = await login('nobody-at-all');
    for (const name of [MARKS.username, `${MARKS.email}@example.com`, `+98${MARKS.phone}`]) {
      const answer = await login(name);
      expect([answer.status, answer.text]).toEqual([unknown.status, unknown.text]);
    }
    const payments: Answer = await api('GET', `/payments?user_id=${person.id}`, { token: administrator });
    expect(payments.body.data.length).toBeGreaterThan(2);
    for (const payment of payments.body.data) {
      expect(payment).toMatchObject({
        description: null,
        user: { id: person.id, username: `deleted:${person.id}`, first_name: '', last_name: '' },
      });
    }
    const names = {
      username: MARKS.username,
      email: `${MARKS.email}@example.com`,
      phone: `+98${MARKS.phone}`,
    };
    expect((await register(names)).id).not.toBe(person.id);
  });
});
