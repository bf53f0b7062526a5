/** The owner of an account is notified of changes to its security, in the app and by SMS. */

import { randomUUID } from 'node:crypto';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { securitySmsRequested } from '@fitness/proto/events/identity.ts';
import { parseTimestamp } from '@fitness/shared/kernel/clock.ts';
import { formatInstant } from '@fitness/shared/kernel/i18n/translate.ts';
import { createLog } from '@fitness/shared/kernel/log.ts';
import { connectBroker } from '@fitness/shared/messaging/broker.ts';
import { type Answer, eventually } from '@fitness/shared/testing/harness.ts';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { type SmsSandbox, startSmsSandbox } from './sms-sandbox.ts';
import {
  type Harness,
  join,
  joinAs,
  newAddress,
  PASSWORD,
  type Person,
  registration,
  startHarness,
} from './support.ts';

const NEXT = 'another password of mine';
/** Shorter than in production. */
const retryDelaysMs = [100, 1_000, 10_000];

let sandbox: SmsSandbox;
let harness: Harness;
let operator: Person;
const logged: string[] = [];
beforeAll(async () => {
  sandbox = await startSmsSandbox();
  const log = createLog({
    service: 'identity',
    level: 'warn',
    destination: { write: (line) => void logged.push(line) },
  });
  harness = await startHarness(
    { KAVENEGAR_BASE_URL: sandbox.kavenegarUrl, SECURITY_SMS: '1', SMS_SIGNED_IN_PER_PHONE: '1' },
    { log, retryDelaysMs },
  );
  operator = await joinAs(harness, 'operator');
});
afterAll(async () => {
  await harness.close();
  await sandbox.close();
});

const send = (person: Person, method: string, path: string, body: unknown, language = 'en') =>
  harness.send(method, path, { as: person.caller, body, headers: { 'accept-language': language } });
const put = (person: Person, changes: Record<string, unknown>) =>
  send(person, 'PUT', '/auth/me', { current_password: PASSWORD, ...changes });
const putByOperator = (person: Person, changes: Record<string, unknown>) =>
  send(operator, 'PUT', `/users/${person.id}`, changes);
const changePassword = (person: Person, language?: string, current = PASSWORD) =>
  send(person, 'PUT', '/auth/change-password', { current_password: current, password: NEXT }, language);
const arm = (person: Person) => send(person, 'POST', '/auth/delete-account', { current_password: PASSWORD });
const commit = (person: Person, code: string, language?: string) => {
  const body = { current_password: PASSWORD, confirmation_code: code };
  return send(person, 'POST', '/auth/delete-account', body, language);
};
const newPhone = (): string => String(registration().phone);

/** Requests a new phone and confirms it. */
const changePhone = async (person: Person, phone: string): Promise<Answer> => {
  expect((await put(person, { phone })).status).toBe(200);
  return send(person, 'POST', '/auth/phone/confirm', { code: await sandbox.newestCode(phone) });
};

const reset = async ({ user }: Person): Promise<Answer> => {
  const headers = newAddress();
  const login = user.username;
  await harness.send('POST', '/auth/forgot-password', { body: { login }, headers });
  await sandbox.waitFor(user.phone, 1);
  const body = { login, code: await sandbox.newestCode(user.phone), password: NEXT };
  return harness.send('POST', '/auth/reset-password', { body, headers });
};

interface Alert {
  type: string;
  title: string;
  body: string;
  data: unknown;
}

const notificationsOf = async ({ caller: as }: Person, language = 'en'): Promise<Alert[]> => {
  const headers = { 'accept-language': language };
  return (await harness.send('GET', '/notifications', { as, headers })).body.data;
};
const changesOf = async (person: Person): Promise<unknown[]> =>
  (await notificationsOf(person)).map(({ data }) => data);

/** The SMS to this phone that contain no code. */
const noticesTo = async (phone: string): Promise<string[]> =>
  (await sandbox.received(phone))
    .filter(({ message }) => /fitness account|حساب ورزشی/.test(message))
    .map(({ message }) => message);

describe('security alerts', () => {
  const CHANGES: [string, string, (person: Person) => Promise<Answer>, string, string][] = [
    [
      'a changed password',
      'password_changed',
      (person) => changePassword(person),
      'Password changed',
      'رمز عبور تغییر کرد',
    ],
    ['a reset password', 'password_reset', reset, 'Password reset', 'رمز عبور بازنشانی شد'],
    [
      'a changed email',
      'email_changed',
      (person) => put(person, { email: `new.${person.user.email}` }),
      'Email address changed',
      'نشانی ایمیل تغییر کرد',
    ],
    [
      'a changed phone',
      'phone_changed',
      (person) => changePhone(person, newPhone()),
      'Phone number changed',
      'شمارهٔ موبایل تغییر کرد',
    ],
    [
      'a changed username',
      'username_changed',
      (person) => send(person, 'PUT', '/auth/me', { username: `own.${person.user.username}` }),
      'Username changed',
      'نام کاربری تغییر کرد',
    ],
    [
      'a changed bank account',
      'bank_account_changed',
      (person) => put(person, { bank_account_number: 'IR820540102680020817909002' }),
      'Bank account changed',
      'حساب بانکی تغییر کرد',
    ],
  ];

  test.each(CHANGES)('an alert notifies the owner of %s', async (_name, change, act, title, persianTitle) => {
    const person = await join(harness);
    expect((await act(person)).status).toBe(200);
    const [alert, ...others] = await notificationsOf(person);
    expect(others).toEqual([]);
    expect(alert).toMatchObject({ type: 'security_alert', title, data: { change, by: 'account' } });
    expect(alert?.body).toContain('If you did not do this');
    const [persian] = await notificationsOf(person, 'fa');
    expect(persian?.title).toBe(persianTitle);
    expect(persian?.body).toContain('اگر کار شما نبوده است');
  });

  test('an alert says that an operator has made the change', async () => {
    const person = await join(harness);
    const changes = {
      email: `op.${person.user.email}`,
      phone: newPhone(),
      bank_account_number: 'IR760170000000000000000001',
    };
    expect((await putByOperator(person, { ...changes, height: 180 })).status).toBe(200);
    expect(await changesOf(person)).toEqual([
      { change: 'bank_account_changed', by: 'operator' },
      { change: 'phone_changed', by: 'operator' },
      { change: 'email_changed', by: 'operator' },
    ]);
    for (const { body, data } of await notificationsOf(person)) {
      expect(body).toBe('Our team made this change. If you did not ask for it, contact us.');
      expect(Object.values(changes).filter((value) => JSON.stringify(data).includes(value))).toEqual([]);
    }
    const [persian] = await notificationsOf(person, 'fa');
    expect(persian?.body).toContain('همکاران ما');
  });

  test('an alert notifies of a username that an operator changed, but not of an unchanged one', async () => {
    const person = await join(harness);
    expect((await put(person, { username: person.user.username })).status).toBe(200);
    expect((await putByOperator(person, { username: person.user.username })).status).toBe(200);
    expect(await changesOf(person)).toEqual([]);
    expect((await putByOperator(person, { username: `op.${person.user.username}` })).status).toBe(200);
    expect(await changesOf(person)).toEqual([{ change: 'username_changed', by: 'operator' }]);
    const [alert] = await notificationsOf(person);
    expect(alert).toMatchObject({ title: 'Username changed', body: expect.stringContaining('Our team') });
  });

  test('an alert notifies of roles that someone else changed, in both languages', async () => {
    const person = await join(harness);
    const administrator = await joinAs(harness, 'administrator');
    const assign = (role_ids: number[], id = person.id) =>
      send(administrator, 'PUT', `/users/${id}`, { role_ids });
    expect((await assign([1])).status).toBe(200);
    expect(await changesOf(person)).toEqual([]);
    expect((await assign([2, 1])).status).toBe(200);
    expect((await assign([1, 2])).status).toBe(200);
    expect(await changesOf(person)).toEqual([{ change: 'roles_changed', by: 'operator' }]);
    const [alert] = await notificationsOf(person);
    expect(alert).toMatchObject({ title: 'Roles changed', body: expect.stringContaining('Our team') });
    expect((await notificationsOf(person, 'fa'))[0]?.title).toBe('نقش‌ها تغییر کرد');
    expect((await assign([3, 1], administrator.id)).status).toBe(200);
    expect(await changesOf(administrator)).toEqual([]);
  });

  test('an alert notifies of a removed bank account', async () => {
    const person = await join(harness);
    await put(person, { bank_account_number: 'IR760170000000000000000001' });
    await put(person, { bank_account_number: null });
    const change = { change: 'bank_account_changed', by: 'account' };
    expect(await changesOf(person)).toEqual([change, change]);
  });

  test('an alert notifies once of locked deletion codes', async () => {
    const person = await join(harness);
    await arm(person);
    const code = await sandbox.newestCode(person.user.phone);
    const wrong = String((Number(code) + 1) % 1_000_000).padStart(6, '0');
    const codes = harness.database.collection('confirmation_codes');
    await codes.updateOne({ _id: person.id as never }, { $set: { wrong_in_row: 98 } });
    expect((await commit(person, wrong)).status).toBe(422);
    expect(await changesOf(person)).toEqual([]);
    // Together with the first phase and the call above, these are the five calls per minute.
    const answers = await Promise.all([commit(person, wrong), commit(person, wrong), commit(person, wrong)]);
    expect(answers.map(({ status }) => status)).toEqual([422, 422, 422]);
    expect(await changesOf(person)).toEqual([{ change: 'codes_locked', by: 'account' }]);
    expect((await notificationsOf(person))[0]?.title).toBe('Deletion codes locked');
    expect((await notificationsOf(person, 'fa'))[0]?.title).toBe('کدهای حذف حساب قفل شد');
    expect(await codes.findOne({ _id: person.id as never })).toMatchObject({ wrong_in_row: 100 });
  });

  test('twenty concurrent password changes, of which one succeeds, cause one alert', async () => {
    const person = await join(harness);
    await Promise.all(Array.from({ length: 20 }, () => changePassword(person)));
    expect(await changesOf(person)).toEqual([{ change: 'password_changed', by: 'account' }]);
  });

  test('unchanged fields and refused changes cause no alert', async () => {
    const person = await join(harness);
    const { email, phone } = person.user;
    await put(person, { email: email.toUpperCase(), phone, bank_account_number: null, height: 180 });
    await putByOperator(person, { email, phone, bank_account_number: null, height: 181 });
    await changePassword(person, 'en', 'not the password');
    await put(person, { email: 'another@example.com', current_password: 'not the password' });
    await put(person, { phone: newPhone() });
    expect(await changesOf(person)).toEqual([]);
  });
});

describe('security SMS', () => {
  test('an SMS notifies of a changed password, in the language of the request', async () => {
    const [english, persian] = [await join(harness), await join(harness)];
    expect((await changePassword(english)).status).toBe(200);
    expect((await changePassword(persian, 'fa')).status).toBe(200);
    expect(await sandbox.waitFor(english.user.phone, 1)).toMatchObject([
      {
        message:
          'The password of your fitness account was changed. If you did not do this, reset it and contact us.',
        code: null,
      },
    ]);
    const [{ message } = { message: '' }] = await sandbox.waitFor(persian.user.phone, 1);
    expect(message).toContain('رمز عبور حساب ورزشی شما تغییر کرد');
  });

  test('an SMS notifies of a reset password', async () => {
    const person = await join(harness);
    expect((await reset(person)).status).toBe(200);
    await sandbox.waitFor(person.user.phone, 2);
    expect(await noticesTo(person.user.phone)).toEqual([
      'The password of your fitness account was reset. If you did not do this, reset it again and contact us.',
    ]);
  });

  test('an SMS notifies the old phone of a new one, even if an operator changed it', async () => {
    const notice =
      'The phone number of your fitness account was changed. If you did not do this, contact us.';
    const changes = [changePhone, (person: Person, phone: string) => putByOperator(person, { phone })];
    for (const change of changes) {
      const [person, phone] = [await join(harness), newPhone()];
      expect((await change(person, phone)).status).toBe(200);
      await sandbox.waitFor(person.user.phone, 1);
      expect([await noticesTo(person.user.phone), await noticesTo(phone)]).toEqual([[notice], []]);
    }
  });

  test.each([
    [
      'en',
      'Your fitness account will be deleted on {at}. To keep it, sign in before then and cancel the deletion.',
    ],
    [
      'fa',
      'حساب ورزشی شما در {at} حذف می‌شود. برای نگه داشتن آن، پیش از این تاریخ وارد شوید و حذف را لغو کنید.',
    ],
  ])(
    'an SMS notifies of a scheduled deletion, with its date in the language of the request (%s)',
    async (locale, text) => {
      const person = await join(harness);
      expect((await arm(person)).status).toBe(200);
      const scheduled = await commit(person, await sandbox.newestCode(person.user.phone), locale);
      expect(scheduled.status).toBe(202);
      await sandbox.waitFor(person.user.phone, 2);
      expect(await noticesTo(person.user.phone)).toEqual([
        text.replace('{at}', formatInstant(locale, parseTimestamp(scheduled.body.deletion_scheduled_at))),
      ]);
    },
  );

  test('security SMS do not use up the daily limit of SMS', async () => {
    const person = await join(harness);
    expect((await changePhone(person, newPhone())).status).toBe(200);
    await sandbox.waitFor(person.user.phone, 1);
    expect((await changePhone(person, person.user.phone)).status).toBe(200);
    expect((await arm(person)).status).toBe(429);
  });
});

describe('the delivery of an SMS notice', () => {
  /** The provider, except that the response to the first text is lost after it was sent. */
  const startLossyProvider = async () => {
    let texts = 0;
    const server = createServer(async (request, response) => {
      const chunks: Buffer[] = [];
      for await (const chunk of request) chunks.push(chunk as Buffer);
      const answer = await fetch(`${sandbox.kavenegarUrl}${request.url}`, {
        method: 'POST',
        headers: { 'content-type': String(request.headers['content-type']) },
        body: Buffer.concat(chunks),
      });
      const text = await answer.text();
      if (request.url?.includes('/sms/send') === true) texts += 1;
      if (texts === 1) request.socket.destroy();
      else response.writeHead(answer.status, { 'content-type': 'application/json' }).end(text);
    });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    return {
      url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
      texts: () => texts,
      close: () => new Promise((resolve) => server.close(resolve)),
    };
  };

  test('an SMS notice that the provider refuses fails no request, and is retried', async () => {
    const person = await join(harness);
    await sandbox.setMode('refuse', person.user.phone);
    const before = logged.length;
    expect((await changePassword(person)).status).toBe(200);
    await eventually(() => logged.slice(before).some((line) => line.includes('it will be retried')));
    expect(await sandbox.received(person.user.phone)).toEqual([]);
    await sandbox.setMode('ok', person.user.phone);
    await sandbox.waitFor(person.user.phone, 1);
    expect(logged.filter((line) => line.includes(person.user.phone.slice(3)))).toEqual([]);
  });

  test('an SMS notice whose response is lost is repeated with the same id, and arrives once', async () => {
    const provider = await startLossyProvider();
    const lossy = await startHarness(
      { KAVENEGAR_BASE_URL: provider.url, SECURITY_SMS: '1' },
      { retryDelaysMs },
    );
    try {
      const { caller: as, user } = await join(lossy, { phone: '+989367776655' });
      const body = { current_password: PASSWORD, password: NEXT };
      expect((await lossy.send('PUT', '/auth/change-password', { as, body })).status).toBe(200);
      await eventually(() => provider.texts() === 2);
      expect(await sandbox.received(user.phone)).toHaveLength(1);
    } finally {
      await lossy.close();
      await provider.close();
    }
  });

  test('an SMS notice is sent once for twenty deliveries of its event', async () => {
    const broker = await connectBroker({
      url: harness.config.AMQP_URL,
      namespace: harness.config.EVENTS_NAMESPACE,
      log: createLog({ service: 'test', level: 'silent' }),
    });
    const publish = (phone: string, id: string) => {
      const event = {
        specversion: '1.0',
        id,
        source: '/services/identity',
        type: securitySmsRequested.type,
        subject: '999999',
        time: '2026-01-15T10:00:00.000Z',
        datacontenttype: 'application/json',
        aggregateversion: 1,
        data: {
          user_id: 999_999,
          phone,
          locale: 'en',
          notice: 'password_changed',
          deletion_scheduled_at: null,
        },
      };
      return broker.publish(broker.eventsExchange, event.type, Buffer.from(JSON.stringify(event)));
    };
    const [phone, later, id] = [newPhone(), newPhone(), randomUUID()];
    await Promise.all(Array.from({ length: 20 }, () => publish(phone, id)));
    // Events of one account are handled in order, so the last event shows that all are handled.
    await publish(later, randomUUID());
    await sandbox.waitFor(later, 1);
    expect(await sandbox.received(phone)).toHaveLength(1);
    await broker.close();
  });
});
