/**
 * A user leaves marks in every field, text and file, and is erased at the end of the grace period. The marks that may remain are
 * listed here with their reasons.
 */
import { randomInt } from 'node:crypto';
import { MODEL } from '@fitness/contracts/model-names.ts';
import { createLog } from '@fitness/shared/kernel/log.ts';
import { connectBroker } from '@fitness/shared/messaging/broker.ts';
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
  PASSWORD,
  register,
  scheduleDeletion,
  sevenDigits,
  stack,
} from './support.ts';

const run = randomInt(36 ** 5, 36 ** 6).toString(36);
const marked = (name: string): string => `mark${name}${run}`.toLowerCase();

const MARKS = {
  username: marked('username'),
  email: marked('email'),
  phone: `912${sevenDigits()}`,
  unconfirmedPhone: `913${sevenDigits()}`,
  firstName: marked('firstname'),
  lastName: marked('lastname'),
  bankAccount: `0101${sevenDigits()}${sevenDigits()}`,
  tokenName: marked('token'),
  program: marked('program'),
  licenseFilename: marked('license'),
  licenseReason: marked('licensereason'),
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
  deadLetterFilename: marked('deadLetter'),
} as const;

/** Marks that are never stored in plain text. */
const NEVER_STORED: readonly (keyof typeof MARKS)[] = ['idempotencyKey', 'searched'];

/** Marks that remain after the erasure, with the reason. */
const RETAINED: Record<string, string> = {
  'mongodb content.trainees.title: serviceTitle': 'the buyer keeps the title of their purchase',
  'mongodb identity.notifications.data: serviceTitle': 'the notification of the delivery has the title',
  'mongodb content.idempotency_keys.reply: serviceTitle':
    'the stored reply to the buyer’s purchase, for 24 hours',
  'mongodb wallet.payments.description: serviceTitle': 'the description of the buyer’s payment',
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
  form.set('file', new Blob(['%PDF-1.7\n', MARKS.fileContent, name]), `${name}.pdf`);
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
    current_password: PASSWORD,
    height: 171,
    birth_date: '1971-03-04',
    is_trainer: true,
  };
  expectStatus(await send('PUT', '/auth/me', profile), 200);
  const another = { phone: `+98${MARKS.unconfirmedPhone}`, current_password: PASSWORD };
  expectStatus(await send('PUT', '/auth/me', another), 200);
  expectStatus(await send('POST', '/auth/tokens', { name: MARKS.tokenName }), 201);
  const credentials = { login: MARKS.username, password: PASSWORD };
  const headers = { 'user-agent': MARKS.program };
  expectStatus(await api('POST', '/auth/login', { body: credentials, headers }), 200);
  expectStatus(await send('POST', '/auth/second-factor', { current_password: PASSWORD }), 200);
  await upload({ type: MODEL.user, id: person.id }, MARKS.pictureFilename);
  await upload({ type: MODEL.user, id: person.id, purpose: 'trainer_license' }, MARKS.licenseFilename);
  const review = { trainer_license_approved: false, trainer_license_rejection_reason: MARKS.licenseReason };
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

/** Creates a reviewed gym. It would block the deletion, so it is deleted again. */
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

/** Makes a sale that is delivered and paid out, with all kinds of payments, each with a text. */
const leaveMoney = async (): Promise<void> => {
  const depositBody = { amount: 5_000, description: MARKS.depositText };
  expectStatus(await send('POST', '/payments/deposit', depositBody, keyed('deposit')), 201);
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

/** Publishes an event about a user's file that no service can handle, so it is dead-lettered. */
const leaveDeadLetter = async (): Promise<void> => {
  const { EVENTS_NAMESPACE: namespace = '' } = stack().part('identity').environment;
  const log = createLog({ service: 'e2e', level: 'silent' });
  const broker = await connectBroker({ url: stack().describe().servers.AMQP_URL, namespace, log });
  const event = {
    specversion: '1.0',
    id: crypto.randomUUID(),
    source: '/services/media',
    type: 'media.media.attached',
    subject: `dead-letter ${person.id}`,
    time: '2026-01-15T10:00:00.000Z',
    datacontenttype: 'application/json',
    aggregateversion: 1,
    data: { attachable_type: MODEL.user, attachable_id: person.id, filename: MARKS.deadLetterFilename },
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
  await leaveDeadLetter();
  await rateSomeGym();
});

afterAll(() => stack().restart('identity'), 60_000);

test('the search covers every kind of storage', async () => {
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
    // This key exists only for a minute.
    await login('nobody.at.all');
    const remains = await remainsOf({ word: 'e', budget: ':limit:login:' });
    return places.filter((place) => !remains.includes(place));
  };
  await eventually(async () => (await missing()).length === 0).catch(() => undefined);
  expect(await missing()).toEqual([]);
});

describe('the erasure of a user with marks everywhere', () => {
  test('the marks are found everywhere before the erasure', async () => {
    const expected = Object.keys(MARKS).filter((name) => !(NEVER_STORED as readonly string[]).includes(name));
    const foundMarks = await eventually(async () => {
      const remains = await remainsOf(MARKS);
      // The deleted gym's name remains only in the notification.
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
        'mongodb identity.tokens.name: program',
        'mongodb identity.confirmation_codes.phone: unconfirmedPhone',
        'mongodb identity.notifications.data: gymReason',
        'mongodb wallet.idempotency_keys.reply: firstName',
        'mongodb content.posts.content: postText',
        'file: fileContent',
        'queue identity.dead: deadLetterFilename',
        'queue gyms.dead: deadLetterFilename',
      ]),
    );
    expect(foundMarks.remains.filter((line) => line.startsWith('log of'))).toEqual([]);
    expect(foundMarks.remains.filter((line) => line.startsWith('redis'))).toEqual([]);
  });

  test('only marks with a reason remain after the erasure', async () => {
    await scheduleDeletion(person);
    await eventually(async () => (await api('GET', `/users/${person.id}`)).status === 404);
    let remains: string[] = [];
    const isClean = async () => {
      remains = await remainsOf(MARKS);
      return remains.every((line) => RETAINED[line] !== undefined);
    };
    await eventually(isClean, { intervalMs: 500 }).catch(() => undefined);
    expect(remains).toEqual(Object.keys(RETAINED).toSorted());
  });

  test('the erased user cannot sign in, like an unknown account, and the ledger stays consistent', async () => {
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
