/** Notifications by push and email, sent to the Firebase and the SMTP relay of the sandbox. */
import { traineePurchased, trainingServiceBoostEnded } from '@fitness/proto/events/content.ts';
import { gymLicenseReviewed } from '@fitness/proto/events/gyms.ts';
import { notificationEmailRequested, notificationPushRequested } from '@fitness/proto/events/identity.ts';
import { createLog } from '@fitness/shared/kernel/log.ts';
import { eventually } from '@fitness/shared/testing/harness.ts';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import { productEnvironment } from '../../../sandbox/src/providers/index.ts';
import { type Sandbox, startSandbox } from '../../../sandbox/src/service.ts';
import { openPublisher, type Publisher } from './events.ts';
import {
  callerOf,
  type Harness,
  join,
  joinAs,
  logIn,
  PASSWORD,
  type Person,
  startHarness,
} from './support.ts';

interface ReceivedPush {
  title: string;
  body: string;
  data: Record<string, string>;
  tag: string;
}
interface ReceivedEmail {
  from: string;
  subject: string;
  text: string;
  html: string;
  message_id: string;
}

let sandbox: Sandbox;
let harness: Harness;
let publisher: Publisher;
/** What the service has logged. */
const logged: { msg: string; event?: string; user_id?: number }[] = [];
/** Emails per day. */
const LIMITS = { EMAILS_PER_DAY: 2, SECURITY_EMAILS_PER_DAY: 1, EMAIL_CHANGE_EMAILS_PER_DAY: 3 };
/** The first ones are shorter than in production, where each is a second at least. */
const retryDelaysMs = [50, 150, 500, 1_000, 5_000];
/** After so many failures there is time until the next try. */
const QUICK_TRIES = 3;
beforeAll(async () => {
  sandbox = await startSandbox();
  const destination = { write: (line: string) => void logged.push(JSON.parse(line)) };
  const log = createLog({ service: 'identity', level: 'warn', destination });
  const limits = Object.fromEntries(Object.entries(LIMITS).map(([name, limit]) => [name, `${limit}`]));
  harness = await startHarness(
    { ...productEnvironment(sandbox.url, sandbox.smtpPort), ...limits },
    { retryDelaysMs, log },
  );
  publisher = await openPublisher(harness);
});
afterAll(async () => {
  await publisher.close();
  await harness.close();
  await sandbox.close();
});
beforeEach(async () => {
  await fetch(`${sandbox.url}/_sandbox`, { method: 'DELETE' });
});

const read = async <Row>(path: string): Promise<Row[]> => {
  const answer = await fetch(`${sandbox.url}/_sandbox/${path}`);
  return ((await answer.json()) as { data: Row[] }).data;
};
const pushesTo = (token: string) => read<ReceivedPush>(`push?token=${token}`);
const emailsTo = (address: string) => read<ReceivedEmail>(`emails?to=${encodeURIComponent(address)}`);

const control = async (path: string, body: unknown): Promise<void> => {
  const answer = await fetch(`${sandbox.url}/_sandbox/${path}`, {
    method: 'PUT',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(body),
  });
  if (!answer.ok) throw new Error(`${path}: ${answer.status} ${await answer.text()}`);
};

let tokens = 0;
const newPushToken = (): string => {
  tokens += 1;
  return `device-token-for-test-${tokens}`;
};

const register = (person: Pick<Person, 'caller'>, token: string, locale = 'en') =>
  harness.send('POST', '/notifications/devices', {
    as: person.caller,
    body: { token, platform: 'android', locale },
  });

const signInAgain = async ({ user }: Person): Promise<Person['caller']> =>
  callerOf(harness, (await logIn(harness, user.username)).body.token);

/** Causes a security alert. Ends the other sessions of the person, but not this one. */
const changePassword = async ({ caller }: Pick<Person, 'caller'>): Promise<void> => {
  const body = {
    current_password: PASSWORD,
    password: 'another horse battery',
    password_confirmation: 'another horse battery',
  };
  const answer = await harness.send('PUT', '/auth/change-password', { as: caller, body });
  if (answer.status >= 300) throw new Error(answer.text);
};

const arrived = <Row>(list: () => Promise<Row[]>, count = 1): Promise<Row[]> =>
  eventually(async () => {
    const rows = await list();
    return rows.length >= count && rows;
  });

const preferences = (person: Person, body: unknown) =>
  harness.send('PUT', '/notifications/preferences', { as: person.caller, body });

/** Waits until every requested message has been sent or skipped. */
const settled = async (): Promise<void> => {
  const stored = (name: string) => harness.database.collection(name).countDocuments();
  await eventually(async () => (await stored('outbox')) === 0);
  let last = '';
  await eventually(
    async () => {
      const handled = `${await stored('inbox')} ${logged.length}`;
      const isSame = handled === last;
      last = handled;
      return isSame;
    },
    { intervalMs: 50 },
  );
};
/** The number of messages on a channel with this outcome so far. */
const countOf = async (channel: 'push' | 'email', outcome: 'skipped' | 'refused'): Promise<number> => {
  const text = await (await fetch(`${harness.url}/metrics`)).text();
  const line = new RegExp(
    `^notifications_sent_total{.*channel="${channel}",outcome="${outcome}".*} (\\d+)$`,
    'm',
  );
  return Number(line.exec(text)?.[1] ?? 0);
};
const retried = ({ type }: { type: string }): number =>
  logged.filter(({ msg, event }) => event === type && msg.includes('it will be retried')).length;
const failedEmails = (): number => retried(notificationEmailRequested);
const retriedPushes = (): number => retried(notificationPushRequested);
const limitedEmails = ({ id }: Person): number =>
  logged.filter(({ msg, user_id }) => user_id === id && msg.includes('the daily budget is spent')).length;

describe('a notification', () => {
  test('a notification is pushed to every device in its language, and sent by email', async () => {
    const person = await join(harness);
    const [english, persian] = [newPushToken(), newPushToken()];
    expect((await register(person, english)).status).toBe(201);
    const other = await signInAgain(person);
    expect((await register({ caller: other }, persian, 'fa')).status).toBe(201);
    await changeBankAccount(person);

    const [push] = await arrived(() => pushesTo(english));
    expect(push).toMatchObject({ title: 'Bank account changed', data: { type: 'security_alert' } });
    expect(push?.tag).toBe(`notification-${push?.data.notification_id}`);
    const [translated] = await arrived(() => pushesTo(persian));
    expect(translated?.title).toMatch(/[\u0600-\u06ff]/);
    // In the language of the newest device.
    const [email] = await arrived(() => emailsTo(person.user.email));
    expect(email?.subject).toBe(translated?.title);
    expect(email?.html).toContain('dir="rtl"');
    expect(email?.from).toContain('no-reply@fitness.example');

    // The chosen language wins over the language of the device, which does not change.
    expect((await preferences(person, { locale: 'en' })).body.data.locale).toBe('en');
    await endBoost(person.id);
    const emails = await arrived(() => emailsTo(person.user.email), 2);
    expect(emails[0]?.subject).toBe('Boost ended');
  });
});

/** Sets a different bank account each time. */
let bankAccounts = 0;
const changeBankAccount = async ({ caller }: Person): Promise<void> => {
  bankAccounts += 1;
  const body = { current_password: PASSWORD, bank_account_number: newBankAccount(bankAccounts) };
  expect((await harness.send('PUT', '/auth/me', { as: caller, body })).status).toBe(200);
};
/** An IBAN with valid check digits. */
const newBankAccount = (number: number): string => {
  const account = `06296${String(number).padStart(17, '0')}`;
  const check = 98n - (BigInt(`${account}182700`) % 97n);
  return `IR${String(check).padStart(2, '0')}${account}`;
};

const reviewLicense = async (person: Person, reason: string): Promise<void> => {
  await harness.identity.call('AttachLicense', { user_id: person.id, media_id: 1, filename: 'license.pdf' });
  const operator = await joinAs(harness, 'operator');
  const answer = await harness.send('PUT', `/users/${person.id}`, {
    as: operator.caller,
    body: { trainer_license_approved: false, trainer_license_rejection_reason: reason },
  });
  expect([answer.status, answer.body.errors]).toEqual([200, undefined]);
};

const rowsOf = async ({ caller }: Person): Promise<{ type: string; title: string; body: string }[]> =>
  (await harness.send('GET', '/notifications', { as: caller, headers: { 'accept-language': 'en' } })).body
    .data;

/** Causes an email that can be switched off. */
const endBoost = (id: number): Promise<void> =>
  publisher.publish(trainingServiceBoostEnded, {
    ...{ boost_id: 1, training_service_id: 1, title: 'Pilates' },
    ...{ seller_user_id: id, level: 1, ended_at: '2026-01-01 00:00:00' },
  });

describe('the review of a trainer license', () => {
  test('the review of a trainer license is pushed, cut to the size of a push message, and sent by email', async () => {
    const person = await join(harness);
    const token = newPushToken();
    await register(person, token);
    const reason = '\u0633'.repeat(2_000);
    await reviewLicense(person, reason);
    const [push] = await arrived(() => pushesTo(token));
    expect(push?.title).toBe('Trainer license rejected');
    expect(push?.body).toMatch(/^Your trainer license has been rejected\. \u0633+…$/);
    expect(Buffer.byteLength(push?.body ?? '')).toBeGreaterThan(1_000);
    expect(Buffer.byteLength(push?.body ?? '')).toBeLessThanOrEqual(1_024);
    expect((await rowsOf(person))[0]?.body).toBe(`Your trainer license has been rejected. ${reason}`);
    const [email] = await arrived(() => emailsTo(person.user.email));
    expect(email?.subject).toBe('Trainer license rejected');
  });
});

test('an email contains no text that a user chose', async () => {
  const CHOSEN = 'Your account is locked https://evil.example';
  const [seller, owner] = [await join(harness), await join(harness)];
  await publisher.publish(traineePurchased, {
    ...{ trainee_id: 1, training_service_id: 1, title: CHOSEN },
    ...{ seller_user_id: seller.id, buyer_user_id: 2, price: 7_000, commission: 0 },
  });
  await publisher.publish(gymLicenseReviewed, {
    ...{ gym_id: 1, gym_name: CHOSEN, owner_user_id: owner.id },
    ...{ approved: false, rejection_reason: CHOSEN },
  });
  for (const person of [seller, owner]) {
    const [email] = await arrived(() => emailsTo(person.user.email));
    const [row] = await rowsOf(person);
    expect(row?.title).toBe(email?.subject);
    expect(row?.body).toContain(CHOSEN);
    expect(email?.text).toContain('See the app');
    expect(JSON.stringify(email)).not.toMatch(/locked|evil|[{}]{2}/);
  }
});

describe('the budget of emails', () => {
  /** Expects exactly this number of emails to arrive in total. */
  const expectEmails = async (addresses: readonly string[], count: number): Promise<void> => {
    const all = async () => (await Promise.all(addresses.map(emailsTo))).flat();
    await arrived(all, count);
    await settled();
    expect(await all()).toHaveLength(count);
  };

  test('a spent budget stops emails for the day, exactly even if they are concurrent, but not notifications', async () => {
    const person = await join(harness);
    await Promise.all(Array.from({ length: 12 }, () => endBoost(person.id)));
    await eventually(() => limitedEmails(person) === 12 - LIMITS.EMAILS_PER_DAY);
    await expectEmails([person.user.email], LIMITS.EMAILS_PER_DAY);
    expect(await rowsOf(person)).toHaveLength(12);
  });

  test('security notices have a limited budget that other emails cannot use up', async () => {
    const person = await join(harness);
    for (let n = 0; n < LIMITS.EMAILS_PER_DAY + 1; n += 1) await endBoost(person.id);
    await eventually(() => limitedEmails(person) === 1);
    for (let n = 0; n < LIMITS.SECURITY_EMAILS_PER_DAY + 1; n += 1) await changeBankAccount(person);
    await eventually(() => limitedEmails(person) === 2);
    await expectEmails([person.user.email], LIMITS.EMAILS_PER_DAY + LIMITS.SECURITY_EMAILS_PER_DAY);
  });

  const setEmail = async ({ caller }: Person, email: string): Promise<void> => {
    const body = { current_password: PASSWORD, email };
    const answer = await harness.send('PUT', '/auth/me', { as: caller, body });
    expect([answer.status, answer.body.errors]).toEqual([200, undefined]);
  };

  test('an account may send a few emails a day to its previous addresses', async () => {
    const person = await join(harness);
    const address = (n: number) => (n === 0 ? person.user.email : `${n}.${person.user.email}`);
    for (let n = 1; n <= LIMITS.EMAIL_CHANGE_EMAILS_PER_DAY + 2; n += 1) await setEmail(person, address(n));
    await eventually(() => limitedEmails(person) === 2);
    await expectEmails([0, 1, 2, 3, 4, 5].map(address), LIMITS.EMAIL_CHANGE_EMAILS_PER_DAY);
    const [toPrevious] = await emailsTo(address(0));
    expect(toPrevious?.subject).toBe('Email address changed');
    expect(await emailsTo(address(5))).toEqual([]);
    // The account's other notices have a separate budget.
    await changeBankAccount(person);
    await arrived(() => emailsTo(address(5)));
  });

  test('an address has one budget for all accounts that have had it', async () => {
    const [first, last] = [await join(harness), await join(harness)];
    const victim = `victim.${first.user.email}`;
    await setEmail(first, victim);
    await setEmail(first, first.user.email);
    await arrived(() => emailsTo(victim));
    await setEmail(last, victim.toUpperCase());
    const own = [last.user.email, `second.${last.user.email}`, `third.${last.user.email}`];
    await setEmail(last, own[1] ?? '');
    await eventually(() => limitedEmails(last) === 1);
    await expectEmails([victim], LIMITS.SECURITY_EMAILS_PER_DAY);
    // An email beyond the budget of the address is not counted for the account, which has sent one of its three.
    await setEmail(last, own[2] ?? '');
    await setEmail(last, `fourth.${last.user.email}`);
    await expectEmails(own, LIMITS.EMAIL_CHANGE_EMAILS_PER_DAY);
  });

  test('an email is retried with one Message-ID until the relay takes it, which does not use up the budget', async () => {
    const person = await join(harness);
    await control('emails/mode', { mode: 'busy', to: person.user.email });
    const before = failedEmails();
    await endBoost(person.id);
    await eventually(() => failedEmails() >= before + LIMITS.EMAILS_PER_DAY);
    expect(await emailsTo(person.user.email)).toEqual([]);
    await control('emails/mode', { mode: 'ok', to: person.user.email });
    const [email] = await arrived(() => emailsTo(person.user.email));
    expect(email?.message_id).toMatch(/^<notification-[0-9a-f-]{36}@fitness\.example>$/);
  });

  test('an email whose type was switched off after the request is not sent', async () => {
    const person = await join(harness);
    const [failed, skipped] = [failedEmails(), await countOf('email', 'skipped')];
    await control('emails/mode', { mode: 'busy', to: person.user.email });
    await endBoost(person.id);
    await eventually(() => failedEmails() >= failed + QUICK_TRIES);
    expect((await preferences(person, { types: { boost_ended: { email: false } } })).status).toBe(200);
    await control('emails/mode', { mode: 'ok', to: person.user.email });
    await eventually(async () => (await countOf('email', 'skipped')) === skipped + 1);
    expect(await emailsTo(person.user.email)).toEqual([]);
  });
});

/** A person with a device for each of these modes of Firebase, in another session. */
const withModes = async <Mode extends string>(modes: readonly Mode[], options: object = {}) => {
  const person = await join(harness);
  const devices = new Map<Mode, string>();
  for (const mode of modes) {
    const token = newPushToken();
    await register({ caller: await signInAgain(person) }, token);
    await control('push/mode', { mode, token, ...options });
    devices.set(mode, token);
  }
  return { person, devices: [...devices.values()] };
};
const works = async (tokens: readonly string[]): Promise<void> => {
  for (const token of tokens) await control('push/mode', { mode: 'ok', token });
};

describe('a failure', () => {
  test('a push message is retried after each failure of Firebase, once per device', async () => {
    const { person, devices } = await withModes(['unavailable', 'quota', 'unreachable'], { retry_after: 0 });
    const working = newPushToken();
    await register(person, working);
    const before = retriedPushes();
    // A change that ends no session.
    await changeBankAccount(person);
    await arrived(() => pushesTo(working));
    await eventually(() => retriedPushes() >= before + devices.length);
    for (const token of devices) expect(await pushesTo(token)).toEqual([]);
    await works(devices);
    for (const token of devices) await arrived(() => pushesTo(token));
    await settled();
    for (const token of [working, ...devices]) expect(await pushesTo(token)).toHaveLength(1);
  });

  test('a push message is not retried before the Retry-After of a failure', async () => {
    // Longer than the usual delay after the first failure.
    const { person, devices } = await withModes(['unavailable', 'quota'], { retry_after: 1 });
    const startedAt = performance.now();
    const before = retriedPushes();
    await changeBankAccount(person);
    await eventually(() => retriedPushes() === before + devices.length);
    await works(devices);
    for (const token of devices) await arrived(() => pushesTo(token));
    expect(performance.now() - startedAt).toBeGreaterThanOrEqual(1_000);
    await settled();
    expect(retriedPushes()).toBe(before + devices.length);
  });

  test('what Firebase or the relay refuses permanently is not retried, and the device stays', async () => {
    const { person, devices } = await withModes(['invalid_argument']);
    const [token = ''] = devices;
    await control('emails/mode', { mode: 'refuse', to: person.user.email });
    const before = await countOf('email', 'refused');
    await changeBankAccount(person);
    await eventually(() => logged.some(({ msg, user_id }) => user_id === person.id && /refused/.test(msg)));
    await eventually(async () => (await countOf('email', 'refused')) === before + 1);
    await settled();
    expect(logged.filter(({ msg }) => msg.includes('dead'))).toEqual([]);
    await works([token]);
    await control('emails/mode', { mode: 'ok', to: person.user.email });
    await endBoost(person.id);
    const [[push], [email]] = [
      await arrived(() => pushesTo(token)),
      await arrived(() => emailsTo(person.user.email)),
    ];
    await settled();
    expect([push?.title, email?.subject]).toEqual(['Boost ended', 'Boost ended']);
    expect([(await pushesTo(token)).length, (await emailsTo(person.user.email)).length]).toEqual([1, 1]);
  });

  test('a device that Firebase does not know, or whose token it cannot read, is removed', async () => {
    const { person } = await withModes(['unregistered', 'sender_mismatch']);
    await register(person, 'short');
    expect(await devicesOf(person)).toHaveLength(3);
    await changeBankAccount(person);
    await eventually(async () => (await devicesOf(person)).length === 0);
  });
});

const devicesOf = ({ id }: Person) => harness.database.collection('devices').find({ user_id: id }).toArray();

describe('a session that has ended', () => {
  const ends: [string, (person: Person, caller: Person['caller']) => Promise<unknown>][] = [
    ['log-out', (_person, caller) => harness.send('POST', '/auth/logout', { as: caller })],
    [
      'revocation',
      async (person, caller) => {
        const { data } = (await harness.send('GET', '/auth/sessions', { as: caller })).body;
        // Newest first: the session of the second sign-in.
        return harness.send('DELETE', `/auth/sessions/${data[0].id}`, { as: person.caller });
      },
    ],
    ['changed password', (person) => changePassword(person)],
  ];

  test.each(ends)('a session that was ended by a %s receives no more push messages', async (_how, end) => {
    const person = await join(harness);
    const [liveToken, endedToken] = [newPushToken(), newPushToken()];
    await register(person, liveToken);
    const caller = await signInAgain(person);
    await register({ caller }, endedToken);
    await end(person, caller);
    expect((await devicesOf(person)).map(({ push_token }) => push_token)).toEqual([liveToken]);
  });

  test('an expired device that is still stored gets no push and determines no language', async () => {
    const person = await join(harness);
    const token = newPushToken();
    await register(person, token, 'fa');
    await harness.database
      .collection('devices')
      .updateOne({ push_token: token }, { $set: { expires_at: new Date(0) } });
    await changePassword(person);
    const [email] = await arrived(() => emailsTo(person.user.email));
    expect(email?.subject).toMatch(/^[ -~]+$/);
    await settled();
    expect(await pushesTo(token)).toEqual([]);
  });

  test('a push that was requested before the session ended is not sent', async () => {
    const person = await join(harness);
    const token = newPushToken();
    await register(person, token);
    await control('push/mode', { mode: 'unavailable', token, retry_after: 0 });
    const skipped = await countOf('push', 'skipped');
    await changeBankAccount(person);
    await arrived(() => emailsTo(person.user.email));
    // The device stays, as after an expiry.
    await harness.database.collection('tokens').deleteMany({ user_id: person.id });
    await control('push/mode', { mode: 'ok', token });
    await eventually(async () => (await countOf('push', 'skipped')) > skipped);
    expect(await pushesTo(token)).toEqual([]);
  });
});

describe('devices', () => {
  test('a session has one device, and a push token belongs to one account', async () => {
    const [first, second] = [await join(harness), await join(harness)];
    const [token, renewed] = [newPushToken(), newPushToken()];
    const { id } = (await register(first, token)).body.data;
    expect((await register(first, renewed)).body.data.id).toBe(id);
    expect((await devicesOf(first)).map(({ push_token }) => push_token)).toEqual([renewed]);
    expect((await register(second, renewed)).status).toBe(201);
    expect([(await devicesOf(first)).length, (await devicesOf(second)).length]).toEqual([0, 1]);
  });

  test('only the owner of a device can remove it', async () => {
    const [owner, stranger] = [await join(harness), await join(harness)];
    const { id } = (await register(owner, newPushToken())).body.data;
    const remove = (person: Person) =>
      harness.send('DELETE', `/notifications/devices/${id}`, { as: person.caller });
    expect((await remove(stranger)).status).toBe(404);
    expect((await remove(owner)).status).toBe(204);
    expect((await remove(owner)).status).toBe(404);
  });

  test('a device with a wrong field is rejected with 422 under its name', async () => {
    const { caller: as } = await join(harness);
    for (const [field, body] of [
      ['token', { token: 'with a space', platform: 'ios', locale: 'fa' }],
      ['platform', { token: 'x'.repeat(30), platform: 'fax', locale: 'fa' }],
      ['locale', { token: 'x'.repeat(30), platform: 'ios', locale: 'xx' }],
    ] as const) {
      const answer = await harness.send('POST', '/notifications/devices', { as, body });
      expect([answer.status, Object.keys(answer.body.errors)]).toEqual([422, [field]]);
    }
  });

  test('concurrent registrations of one token leave one device', async () => {
    const people = await Promise.all([join(harness), join(harness), join(harness)]);
    const token = newPushToken();
    const answers = await Promise.all(people.map((person) => register(person, token)));
    expect(answers.map(({ status }) => status)).toEqual([201, 201, 201]);
    expect(await harness.database.collection('devices').countDocuments({ push_token: token })).toBe(1);
  });
});

describe('preferences', () => {
  test('every channel is on until it is switched off', async () => {
    const person = await join(harness);
    const shown = await harness.send('GET', '/notifications/preferences', { as: person.caller });
    expect(shown.body.data.locale).toBeNull();
    expect(new Set(Object.values(shown.body.data.types).map((each) => JSON.stringify(each)))).toEqual(
      new Set(['{"push":true,"email":true}']),
    );
    const token = newPushToken();
    await register(person, token);
    const off = { types: { security_alert: { push: false }, boost_ended: { email: false } } };
    const { data } = (await preferences(person, off)).body;
    expect(data.types.security_alert).toEqual({ push: false, email: true });
    expect(data.types.boost_ended).toEqual({ push: true, email: false });
    await changePassword(person);
    await arrived(() => emailsTo(person.user.email));
    await settled();
    expect(await pushesTo(token)).toEqual([]);
    const on = (await preferences(person, { types: { security_alert: { push: true } } })).body.data;
    expect(on.types.security_alert).toEqual({ push: true, email: true });
    expect(on.types.boost_ended).toEqual({ push: true, email: false });
  });

  test('emails about security and about a deletion cannot be switched off', async () => {
    const person = await join(harness);
    for (const type of ['security_alert', 'account_deletion_requested', 'account_deletion_postponed']) {
      const answer = await preferences(person, { types: { [type]: { email: false } } });
      expect([answer.status, Object.keys(answer.body.errors)]).toEqual([422, [`types.${type}.email`]]);
    }
  });

  test('a wrong preference is rejected with 422 under its name', async () => {
    const answer = await preferences(await join(harness), {
      locale: 'xx',
      types: { boost_ended: { push: 'no' } },
    });
    expect([answer.status, Object.keys(answer.body.errors).sort()]).toEqual([
      422,
      ['locale', 'types.boost_ended.push'],
    ]);
  });
});

const skippedOfAll = async (): Promise<number> =>
  (await countOf('push', 'skipped')) + (await countOf('email', 'skipped'));

test('an erasure removes devices and preferences, and nothing more is sent', async () => {
  const person = await join(harness);
  const token = newPushToken();
  await register(person, token);
  await preferences(person, { locale: 'fa' });
  await control('push/mode', { mode: 'unavailable', token, retry_after: 0 });
  await control('emails/mode', { mode: 'busy', to: person.user.email });
  const [failed, skipped] = [failedEmails(), await skippedOfAll()];
  await changeBankAccount(person);
  await eventually(() => failedEmails() >= failed + QUICK_TRIES);
  const { caller: as } = await joinAs(harness, 'administrator');
  expect((await harness.send('DELETE', `/users/${person.id}`, { as })).status).toBe(204);
  expect(await devicesOf(person)).toEqual([]);
  const stored = harness.database.collection('notification_preferences');
  expect(await stored.countDocuments({ _id: person.id as never })).toBe(0);
  await control('push/mode', { mode: 'ok', token });
  await control('emails/mode', { mode: 'ok', to: person.user.email });
  await eventually(async () => (await skippedOfAll()) === skipped + 2);
  expect(await pushesTo(token)).toEqual([]);
  expect(await emailsTo(person.user.email)).toEqual([]);
  expect(notificationPushRequested.personalTo).toBeUndefined();
});
