/** Refusals of Firebase and of the email relay. */
import { afterAll, beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import { createTransport } from 'nodemailer';
import { productEnvironment } from '../src/providers/index.ts';
import { type Sandbox, startSandbox } from '../src/service.ts';

const part = (value: unknown): string => Buffer.from(JSON.stringify(value)).toString('base64url');
const SCOPE = 'https://www.googleapis.com/auth/firebase.messaging';

let sandbox: Sandbox;
let bearer = '';
beforeAll(async () => {
  sandbox = await startSandbox();
  bearer = (await tokenAt('fcm', SCOPE)).access_token ?? '';
});
afterAll(() => sandbox.close());
beforeEach(async () => {
  await fetch(`${sandbox.url}/_sandbox`, { method: 'DELETE' });
});

const tokenAt = async (provider: string, scope: string) => {
  const claims = { iss: 'sandbox@example.com', aud: 'x', scope, iat: 1, exp: 3_601 };
  const answer = await fetch(`${sandbox.url}/${provider}/token`, {
    method: 'POST',
    body: new URLSearchParams({
      grant_type: 'urn:ietf:params:oauth:grant-type:jwt-bearer',
      assertion: `${part({ alg: 'RS256' })}.${part(claims)}.c2ln`,
    }),
  });
  return (await answer.json()) as { access_token?: string; error?: string };
};

const TOKEN = 'a-device-token-of-the-test';

const send = async (body: unknown, { project = 'sandbox', authorization = `Bearer ${bearer}` } = {}) => {
  const answer = await fetch(`${sandbox.url}/fcm/v1/projects/${project}/messages:send`, {
    method: 'POST',
    headers: { authorization, 'content-type': 'application/json' },
    body: JSON.stringify(body),
  });
  const { error } = (await answer.json()) as {
    error?: { status: string; details?: { errorCode?: string; fieldViolations?: { field: string }[] }[] };
  };
  return {
    status: answer.status,
    code: error?.details?.[0]?.errorCode ?? error?.status,
    field: error?.details?.[1]?.fieldViolations?.[0]?.field,
  };
};

const message = (fields: Record<string, unknown> = {}) => ({
  message: { token: TOKEN, notification: { title: 'Title', body: 'Body' }, ...fields },
});

const received = async (path: string): Promise<unknown[]> =>
  ((await (await fetch(`${sandbox.url}/_sandbox/${path}`)).json()) as { data: unknown[] }).data;

describe('Firebase', () => {
  test('Firebase accepts a valid message', async () => {
    expect((await send(message({ data: { id: '7' } }))).status).toBe(200);
    expect(await received(`push?token=${TOKEN}`)).toMatchObject([{ title: 'Title', data: { id: '7' } }]);
  });

  test('Firebase refuses unknown fields and unreadable messages, and stores nothing of them', async () => {
    const refusals = [
      await send(message({ unknown: 1 })),
      await send(message({ data: { id: 7 } })),
      await send(message({ data: { from: 'x' } })),
      await send(message({ token: 'short' })),
      await send(message({ data: { text: 'x'.repeat(4_096) } })),
      await send(message({ apns: { headers: { 'apns-collapse-id': 'x'.repeat(65) } } })),
    ];
    expect(refusals.map(({ status, code }) => [status, code])).toEqual(
      refusals.map(() => [400, 'INVALID_ARGUMENT']),
    );
    expect(refusals[3]?.field).toBe('message.token');
    expect(await received('push')).toEqual([]);
  });

  test('Firebase refuses other credentials and other projects', async () => {
    const { access_token: ofPlay } = await tokenAt(
      'google-play',
      'https://www.googleapis.com/auth/androidpublisher',
    );
    expect(await tokenAt('fcm', 'https://www.googleapis.com/auth/androidpublisher')).toMatchObject({
      error: 'invalid_scope',
    });
    const answers = [
      await send(message(), { authorization: '' }),
      await send(message(), { authorization: `Bearer ${ofPlay}` }),
      await send(message(), { authorization: 'Bearer invalid' }),
      await send(message(), { project: 'another' }),
    ];
    expect(answers.map(({ status }) => status)).toEqual([401, 401, 403, 403]);
  });

  test.each([
    ['unregistered', 404, 'UNREGISTERED'],
    ['sender_mismatch', 403, 'SENDER_ID_MISMATCH'],
    ['invalid_argument', 400, 'INVALID_ARGUMENT'],
    ['quota', 429, 'QUOTA_EXCEEDED'],
    ['unavailable', 503, 'UNAVAILABLE'],
  ])('the mode %s answers %i', async (mode, status, code) => {
    await fetch(`${sandbox.url}/_sandbox/push/mode`, {
      method: 'PUT',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ mode, token: TOKEN }),
    });
    expect(await send(message())).toMatchObject({ status, code });
  });
});

describe('the email relay', () => {
  const sendMail = async (user: string | undefined): Promise<number> => {
    const url = new URL(productEnvironment(sandbox.url, sandbox.smtpPort).SMTP_URL ?? '');
    const auth = user === undefined ? {} : { auth: { user, pass: 'sandbox' } };
    const transport = createTransport({ host: url.hostname, port: Number(url.port), ...auth });
    const mail = { from: 'a@example.com', to: 'Person@Example.com', subject: 'سلام', text: 'Text' };
    try {
      return Number.parseInt((await transport.sendMail(mail)).response, 10);
    } catch (error) {
      return (error as { responseCode: number }).responseCode;
    } finally {
      transport.close();
    }
  };

  test('the relay accepts emails only after a login', async () => {
    expect([await sendMail(undefined), await sendMail('invalid')]).toEqual([530, 535]);
    expect(await received('emails')).toEqual([]);
    expect(await sendMail('sandbox')).toBe(250);
    expect(await received('emails?to=person@example.com')).toMatchObject([
      { to: 'person@example.com', subject: 'سلام', text: 'Text\n' },
    ]);
  });
});
