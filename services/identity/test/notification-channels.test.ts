/** Notifications by push and email, sent to the Firebase and the SMTP relay of the sandbox. */
import {
  traineeDelivered,
  traineePurchased,
  trainingServiceBoostEnded,
} from '@fitness/proto/events/content.ts';
import type { EventDefinition, EventInput } from '@fitness/proto/events/define-event.ts';
import { gymLicenseReviewed } from '@fitness/proto/events/gyms.ts';
import { notificationPushRequested } from '@fitness/proto/events/identity.ts';
import { withdrawalSettled } from '@fitness/proto/events/wallet.ts';
import { systemClock, systemRandom } from '@fitness/shared/kernel/clock.ts';
import { createOutbox } from '@fitness/shared/messaging/outbox.ts';
import { inTransaction } from '@fitness/shared/mongo/transaction.ts';
import { eventually } from '@fitness/shared/testing/harness.ts';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import { productEnvironment } from '../../../sandbox/src/providers/index.ts';
import { type Sandbox, startSandbox } from '../../../sandbox/src/service.ts';
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
/** Emails per day. */
const LIMITS = { EMAILS_PER_DAY: 2, SECURITY_EMAILS_PER_DAY: 4, EMAIL_CHANGE_EMAILS_PER_DAY: 3 };
beforeAll(async () => {
  sandbox = await startSandbox();
  const limits = Object.fromEntries(Object.entries(LIMITS).map(([name, limit]) => [name, `${limit}`]));
  harness = await startHarness({ ...productEnvironment(sandbox.url, sandbox.smtpPort), ...limits });
});
afterAll(async () => {
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
  await eventually(async () => (await harness.database.collection('outbox').countDocuments()) === 0);
  let last = '';
  await eventually(async () => {
    const text = await metrics();
    const isSame = text === last;
    last = text;
    return isSame;
  });
};
const metrics = async (): Promise<string> => {
  const text = await (await fetch(`${harness.url}/metrics`)).text();
  return text
    .split('\n')
    .filter((line) => /^(?:notifications_sent_total|events_handled_total)/.test(line))
    .join('\n');
};

describe('a notification', () => {
  test('a notification is pushed to every device in its language, and sent by email', async () => {
    const person = await join(harness);
    const [english, persian] = [newPushToken(), newPushToken()];
    expect((await register(person, english)).status).toBe(201);
    const other = await signInAgain(person);
    expect((await register({ caller: other }, persian, 'fa')).status).toBe(201);
    const change = { current_password: PASSWORD, bank_account_number: 'IR062960000000100324200001' };
    const answer = await harness.send('PUT', '/auth/me', { as: person.caller, body: change });
    expect([answer.status, answer.body.errors]).toEqual([200, undefined]);

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
    await changeBankAccount(person);
    const emails = await arrived(() => emailsTo(person.user.email), 2);
    expect(emails[0]?.subject).toBe('Bank account changed');
  });

  test('the notification of a new email address is sent to the previous one', async () => {
    const person = await join(harness);
    const email = `new.${person.user.email}`;
    const body = { current_password: PASSWORD, email };
    expect((await harness.send('PUT', '/auth/me', { as: person.caller, body })).status).toBe(200);
    const [received] = await arrived(() => emailsTo(person.user.email));
    expect(received?.subject).toBe('Email address changed');
    expect(await emailsTo(email)).toEqual([]);
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

const publish = <Definition extends EventDefinition>(
  definition: Definition,
  data: EventInput<Definition>,
): Promise<void> => {
  const clocks = { clock: systemClock, random: systemRandom };
  const outbox = createOutbox({ connection: harness.database, service: 'content', ...clocks });
  return inTransaction(harness.database, (session) =>
    outbox.publish(session, definition, { subject: 1, aggregateVersion: 1, data }),
  );
};

describe('the review of a trainer license', () => {
  test('the review of a trainer license is pushed and sent by email', async () => {
    const person = await join(harness);
    const token = newPushToken();
    await register(person, token);
    await reviewLicense(person, 'blurred');
    const [push] = await arrived(() => pushesTo(token));
    expect(push).toMatchObject({
      title: 'Trainer license rejected',
      body: expect.stringContaining('blurred'),
    });
    const [email] = await arrived(() => emailsTo(person.user.email));
    expect(email?.subject).toBe('Trainer license rejected');
  });

  test('a long reason is cut to the size of a push message', async () => {
    const person = await join(harness);
    const token = newPushToken();
    await register(person, token);
    const reason = '\u0633'.repeat(2_000);
    await reviewLicense(person, reason);
    const [push] = await arrived(() => pushesTo(token));
    expect(push?.body).toMatch(/^Your trainer license has been rejected\. \u0633+…$/);
    expect(Buffer.byteLength(push?.body ?? '')).toBeGreaterThan(1_000);
    expect(Buffer.byteLength(push?.body ?? '')).toBeLessThanOrEqual(1_024);
    expect((await rowsOf(person))[0]?.body).toBe(`Your trainer license has been rejected. ${reason}`);
  });
});

describe('an email', () => {
  const CHOSEN = 'Your account is locked https://evil.example';
  const trainee = { trainee_id: 1, training_service_id: 1, title: CHOSEN };
  const byType: [string, (id: number) => Promise<void>][] = [
    [
      'training_service_sold',
      (id) =>
        publish(traineePurchased, {
          ...trainee,
          ...{ seller_user_id: id, buyer_user_id: 2, price: 7_000, commission: 0 },
        }),
    ],
    [
      'training_service_delivered',
      (id) => publish(traineeDelivered, { ...trainee, seller_user_id: 2, buyer_user_id: id }),
    ],
    [
      'boost_ended',
      (id) =>
        publish(trainingServiceBoostEnded, {
          ...{ boost_id: 1, training_service_id: 1, title: CHOSEN },
          ...{ seller_user_id: id, level: 1, ended_at: '2026-01-01 00:00:00' },
        }),
    ],
    [
      'gym_license_reviewed',
      (id) =>
        publish(gymLicenseReviewed, {
          ...{ gym_id: 1, gym_name: CHOSEN, owner_user_id: id },
          ...{ approved: false, rejection_reason: CHOSEN },
        }),
    ],
    [
      'withdrawal_rejected',
      (id) =>
        publish(withdrawalSettled, {
          ...{ payment_id: 1, user_id: id, amount: 7_000 },
          ...{ outcome: 'rejected' as const, reason: CHOSEN },
        }),
    ],
  ];

  test.each(byType)('an email about %s contains no text that a user chose', async (type, cause) => {
    const person = await join(harness);
    await cause(person.id);
    const [email] = await arrived(() => emailsTo(person.user.email));
    const [row] = await rowsOf(person);
    expect([row?.type, row?.title]).toEqual([type, email?.subject]);
    expect(row?.body).toContain(CHOSEN);
    expect(email?.text).toContain('See the app');
    expect(JSON.stringify(email)).not.toMatch(/locked|evil|[{}]{2}/);
  });
});

describe('the budget of emails', () => {
  const sell = (id: number) =>
    publish(trainingServiceBoostEnded, {
      ...{ boost_id: 1, training_service_id: 1, title: 'Pilates' },
      ...{ seller_user_id: id, level: 1, ended_at: '2026-01-01 00:00:00' },
    });
  const times = async (count: number, work: () => Promise<unknown>): Promise<void> => {
    for (let n = 0; n < count; n += 1) await work();
  };
  const limited = async (): Promise<number> =>
    Number(/channel="email",outcome="limited"[^}]*\} (\d+)/.exec(await metrics())?.[1] ?? 0);

  /** Expects exactly this number of emails to arrive in total. */
  const expectEmails = async (addresses: readonly string[], count: number): Promise<void> => {
    const all = async () => (await Promise.all(addresses.map(emailsTo))).flat();
    await arrived(all, count);
    await settled();
    expect(await all()).toHaveLength(count);
  };

  test('a spent budget stops emails for the day, but not notifications', async () => {
    const person = await join(harness);
    const before = await limited();
    await times(LIMITS.EMAILS_PER_DAY + 2, () => sell(person.id));
    await eventually(async () => (await limited()) === before + 2);
    await expectEmails([person.user.email], LIMITS.EMAILS_PER_DAY);
    expect(await rowsOf(person)).toHaveLength(LIMITS.EMAILS_PER_DAY + 2);
  });

  test('security notices have a limited budget that other emails cannot use up', async () => {
    const person = await join(harness);
    const before = await limited();
    await times(LIMITS.EMAILS_PER_DAY + 1, () => sell(person.id));
    await eventually(async () => (await limited()) === before + 1);
    await times(LIMITS.SECURITY_EMAILS_PER_DAY + 1, () => changeBankAccount(person));
    await eventually(async () => (await limited()) === before + 2);
    await expectEmails([person.user.email], LIMITS.EMAILS_PER_DAY + LIMITS.SECURITY_EMAILS_PER_DAY);
  });

  const setEmail = async ({ caller }: Person, email: string): Promise<void> => {
    const body = { current_password: PASSWORD, email };
    const answer = await harness.send('PUT', '/auth/me', { as: caller, body });
    expect([answer.status, answer.body.errors]).toEqual([200, undefined]);
  };

  test('an account may send a few emails a day to its previous addresses', async () => {
    const person = await join(harness);
    const before = await limited();
    const address = (n: number) => (n === 0 ? person.user.email : `${n}.${person.user.email}`);
    for (let n = 1; n <= LIMITS.EMAIL_CHANGE_EMAILS_PER_DAY + 2; n += 1) await setEmail(person, address(n));
    await eventually(async () => (await limited()) === before + 2);
    await expectEmails([0, 1, 2, 3, 4, 5].map(address), LIMITS.EMAIL_CHANGE_EMAILS_PER_DAY);
    // The account's other notices have a separate budget.
    await changeBankAccount(person);
    await arrived(() => emailsTo(address(5)));
  });

  test('an address has one budget for all accounts that have had it', async () => {
    const before = await limited();
    const victim = `victim.${(await join(harness)).user.email}`;
    const spellings = [victim, victim.toUpperCase()];
    let last = await join(harness);
    for (let n = 0; n < LIMITS.SECURITY_EMAILS_PER_DAY + 2; n += 1) {
      last = await join(harness);
      await setEmail(last, spellings[n % 2] ?? victim);
      await setEmail(last, last.user.email);
    }
    await eventually(async () => (await limited()) === before + 2);
    await expectEmails([victim], LIMITS.SECURITY_EMAILS_PER_DAY);
    // Emails beyond the budget of the address are not counted for the account, which has sent one of its three.
    const own = [last.user.email, `second.${last.user.email}`, `third.${last.user.email}`];
    await setEmail(last, own[1] ?? '');
    await setEmail(last, own[2] ?? '');
    await expectEmails(own, 3);
  });

  test('failed emails do not use up the budget', async () => {
    const person = await join(harness);
    await control('emails/mode', { mode: 'busy', to: person.user.email });
    const failed = async () =>
      Number(/channel="email",outcome="failed"[^}]*\} (\d+)/.exec(await metrics())?.[1] ?? 0);
    const before = await failed();
    await sell(person.id);
    await eventually(async () => (await failed()) >= before + LIMITS.EMAILS_PER_DAY);
    await control('emails/mode', { mode: 'ok', to: person.user.email });
    await arrived(() => emailsTo(person.user.email));
  });

  test('an email whose type was switched off after the request is not sent', async () => {
    const person = await join(harness);
    const count = async (outcome: string) =>
      Number(
        new RegExp(`channel="email",outcome="${outcome}"[^}]*\\} (\\d+)`).exec(await metrics())?.[1] ?? 0,
      );
    const [failed, skipped] = [await count('failed'), await count('skipped')];
    await control('emails/mode', { mode: 'busy', to: person.user.email });
    await sell(person.id);
    await eventually(async () => (await count('failed')) > failed);
    expect((await preferences(person, { types: { boost_ended: { email: false } } })).status).toBe(200);
    await control('emails/mode', { mode: 'ok', to: person.user.email });
    await eventually(async () => (await count('skipped')) === skipped + 1);
    expect(await emailsTo(person.user.email)).toEqual([]);
  });

  test('concurrent emails are counted exactly', async () => {
    const person = await join(harness);
    const before = await limited();
    await Promise.all(Array.from({ length: 20 }, () => sell(person.id)));
    await eventually(async () => (await limited()) === before + 20 - LIMITS.EMAILS_PER_DAY);
    await expectEmails([person.user.email], LIMITS.EMAILS_PER_DAY);
  });
});

describe('a failure', () => {
  test.each(['unavailable', 'quota', 'unreachable'])(
    'a push message is retried after %s of Firebase, once per device',
    async (mode) => {
      const person = await join(harness);
      const [broken, working] = [newPushToken(), newPushToken()];
      await register({ caller: await signInAgain(person) }, working);
      await register(person, broken);
      await control('push/mode', { mode, token: broken });
      // A change that ends no session.
      await harness.send('PUT', '/auth/me', {
        as: person.caller,
        body: { current_password: PASSWORD, bank_account_number: 'IR062960000000100324200001' },
      });
      await arrived(() => pushesTo(working));
      expect(await pushesTo(broken)).toEqual([]);
      await control('push/mode', { mode: 'ok', token: broken });
      await arrived(() => pushesTo(broken));
      await settled();
      expect([(await pushesTo(working)).length, (await pushesTo(broken)).length]).toEqual([1, 1]);
    },
  );

  test.each(['unavailable', 'quota'])(
    'a push message is not retried before the Retry-After of %s',
    async (mode) => {
      const person = await join(harness);
      const token = newPushToken();
      await register(person, token);
      // Longer than the usual delay of one second after the first failure.
      await control('push/mode', { mode, token, retry_after: 4 });
      const before = Date.now();
      const retried = retriedPushes(await metrics());
      await changePassword(person);
      await eventually(async () => retriedPushes(await metrics()) > retried);
      await control('push/mode', { mode: 'ok', token });
      await arrived(() => pushesTo(token));
      expect(Date.now() - before).toBeGreaterThanOrEqual(4_000);
    },
  );

  test('an email is retried with the same Message-ID after a failure of the relay', async () => {
    const person = await join(harness);
    await control('emails/mode', { mode: 'busy', to: person.user.email });
    await changePassword(person);
    await eventually(async () => /outcome="failed".* [1-9]/.test(emailLines(await metrics())));
    expect(await emailsTo(person.user.email)).toEqual([]);
    await control('emails/mode', { mode: 'ok', to: person.user.email });
    const [email] = await arrived(() => emailsTo(person.user.email));
    expect(email?.message_id).toMatch(/^<notification-[0-9a-f-]{36}@fitness\.example>$/);
  });

  test('an address that the relay refuses permanently is not retried', async () => {
    const person = await join(harness);
    await control('emails/mode', { mode: 'refuse', to: person.user.email });
    const before = refused(await metrics());
    await changePassword(person);
    await eventually(async () => refused(await metrics()) === before + 1);
    await settled();
    await control('emails/mode', { mode: 'ok', to: person.user.email });
    expect(await emailsTo(person.user.email)).toEqual([]);
  });

  test('a message that Firebase refuses permanently is not retried, and its device stays', async () => {
    const person = await join(harness);
    const token = newPushToken();
    await register(person, token);
    await control('push/mode', { mode: 'invalid_argument', token });
    await changeBankAccount(person);
    await eventually(async () => /channel="push",outcome="refused"[^}]*\} 1$/m.test(await metrics()));
    await settled();
    expect(await metrics()).not.toMatch(/push_requested",outcome="dead"[^}]*\} [1-9]/);
    await control('push/mode', { mode: 'ok', token });
    await changeBankAccount(person);
    const [push] = await arrived(() => pushesTo(token));
    await settled();
    expect((await pushesTo(token)).map(({ tag }) => tag)).toEqual([push?.tag]);
  });

  test.each(['unregistered', 'sender_mismatch'])('the Firebase error %s removes the device', async (mode) => {
    const person = await join(harness);
    const token = newPushToken();
    await register(person, token);
    await control('push/mode', { mode, token });
    await changePassword(person);
    await eventually(async () => (await devicesOf(person)).length === 0);
  });

  test('a token that Firebase cannot read removes the device', async () => {
    const person = await join(harness);
    await register(person, 'short');
    await changePassword(person);
    await eventually(async () => (await devicesOf(person)).length === 0);
  });

  const retriedPushes = (text: string): number =>
    Number(/push_requested"[^}]*outcome="retried"[^}]*\} (\d+)/.exec(text)?.[1] ?? 0);
  const emailLines = (text: string) =>
    text
      .split('\n')
      .filter((line) => line.includes('channel="email"'))
      .join('\n');
  const refused = (text: string): number =>
    Number(/outcome="refused"[^}]*\} (\d+)/.exec(emailLines(text))?.[1] ?? 0);
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
    await control('push/mode', { mode: 'unavailable', token });
    await harness.send('PUT', '/auth/me', {
      as: person.caller,
      body: { current_password: PASSWORD, bank_account_number: 'IR062960000000100324200001' },
    });
    await arrived(() => emailsTo(person.user.email));
    // The device stays, as after an expiry.
    await harness.database.collection('tokens').deleteMany({ user_id: person.id });
    await control('push/mode', { mode: 'ok', token });
    await eventually(async () => /channel="push",outcome="skipped"[^}]*\} [1-9]/.test(await metrics()));
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

  test.each([
    ['token', { token: 'with a space', platform: 'ios', locale: 'fa' }],
    ['platform', { token: 'x'.repeat(30), platform: 'fax', locale: 'fa' }],
    ['locale', { token: 'x'.repeat(30), platform: 'ios', locale: 'xx' }],
  ])('a device with a wrong %s is rejected with 422 under its name', async (field, body) => {
    const { caller } = await join(harness);
    const answer = await harness.send('POST', '/notifications/devices', { as: caller, body });
    expect([answer.status, Object.keys(answer.body.errors)]).toEqual([422, [field]]);
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

  test.each(['security_alert', 'account_deletion_requested', 'account_deletion_postponed'])(
    'the email of %s cannot be switched off',
    async (type) => {
      const answer = await preferences(await join(harness), { types: { [type]: { email: false } } });
      expect([answer.status, Object.keys(answer.body.errors)]).toEqual([422, [`types.${type}.email`]]);
    },
  );

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

test('an erasure removes devices and preferences, and nothing more is sent', async () => {
  const person = await join(harness);
  const token = newPushToken();
  await register(person, token);
  await preferences(person, { locale: 'fa' });
  await control('push/mode', { mode: 'unavailable', token });
  await control('emails/mode', { mode: 'busy', to: person.user.email });
  await harness.send('PUT', '/auth/me', {
    as: person.caller,
    body: { current_password: PASSWORD, bank_account_number: 'IR062960000000100324200001' },
  });
  const administrator = await join(harness);
  await harness.database
    .collection('users')
    .updateOne({ _id: administrator.id as never }, { $set: { role_ids: [3] } });
  const caller = await callerOf(harness, administrator.token);
  expect((await harness.send('DELETE', `/users/${person.id}`, { as: caller })).status).toBe(204);
  expect(await devicesOf(person)).toEqual([]);
  const stored = harness.database.collection('notification_preferences');
  expect(await stored.countDocuments({ _id: person.id as never })).toBe(0);
  await control('push/mode', { mode: 'ok', token });
  await control('emails/mode', { mode: 'ok', to: person.user.email });
  await settled();
  expect(await pushesTo(token)).toEqual([]);
  expect(await emailsTo(person.user.email)).toEqual([]);
  expect(notificationPushRequested.personalTo).toBeUndefined();
});
