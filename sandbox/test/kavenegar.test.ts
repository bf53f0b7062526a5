import { afterAll, beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import { form, pause, startTestSandbox, type TestSandbox, timed } from './harness.ts';

/** Long enough for a stalled machine to do what must happen before the slow response. */
const SLOW_MS = 2_000;

let sandbox: TestSandbox;
beforeAll(async () => {
  sandbox = await startTestSandbox(SLOW_MS);
});
afterAll(() => sandbox.close());
beforeEach(() => sandbox.call('DELETE', '/_sandbox'));

const LOOKUP = '/kavenegar/v1/some-key/verify/lookup.json';
const SEND = '/kavenegar/v1/some-key/sms/send.json';
const STATUS = '/kavenegar/v1/some-key/sms/status.json';
const PHONE = '+989121234567';

const lookup = (fields: Record<string, string> = {}, signal?: AbortSignal) =>
  sandbox.call(
    'POST',
    LOOKUP,
    form({ receptor: PHONE, token: '482913', template: 'account-deletion-en', ...fields }),
    signal ? { signal } : {},
  );
const inbox = async (receptor = PHONE) =>
  (await sandbox.call('GET', `/_sandbox/sms?receptor=${encodeURIComponent(receptor)}`)).json.data;
const setMode = (mode: string, receptor?: string) =>
  sandbox.call('PUT', '/_sandbox/sms/mode', { mode, ...(receptor ? { receptor } : {}) });

describe('sending', () => {
  test('a lookup is answered in the envelope of the provider and its token is the code', async () => {
    const answer = await lookup();
    expect(answer.status).toBe(200);
    expect(answer.json.return).toEqual({ status: 200, message: expect.any(String) });
    expect(answer.json.entries).toEqual([
      {
        messageid: expect.any(Number),
        message: 'Your code to delete the account: 482913',
        status: 5,
        statustext: expect.any(String),
        sender: expect.any(String),
        receptor: PHONE,
        date: 1_768_471_200,
        cost: expect.any(Number),
      },
    ]);
    expect(await inbox()).toEqual([
      {
        receptor: PHONE,
        message: 'Your code to delete the account: 482913',
        code: '482913',
        sent_at: '2026-01-15 10:00:00',
      },
    ]);
  });

  test('a GET with the same parameters sends the message', async () => {
    const query = form({ receptor: '09121234567', token: '111222', template: 'phone-change-fa' });
    expect((await sandbox.call('GET', `${LOOKUP}?${query.toString()}`)).status).toBe(200);
    expect((await inbox())[0].code).toBe('111222');
  });

  test('a plain message is recorded for each receptor, with the code found in its text', async () => {
    const answer = await sandbox.call(
      'POST',
      SEND,
      form({ receptor: '09121234567,00989127654321', message: 'کد شما: ۱۲۳۴۵۶ تا 10 دقیقه' }),
    );
    expect(answer.json.entries.map((entry: { receptor: string }) => entry.receptor)).toEqual([
      '09121234567',
      '00989127654321',
    ]);
    expect((await inbox(PHONE))[0].code).toBe('123456');
    expect((await inbox('+989127654321'))[0].code).toBe('123456');
  });

  test('a message without a code has the code null', async () => {
    await sandbox.call('POST', SEND, form({ receptor: PHONE, message: 'see you at 10' }));
    expect((await inbox())[0].code).toBeNull();
  });

  test('a repeated localid sends nothing twice and returns the same entries', async () => {
    const body = { receptor: PHONE, message: 'code 445566', localid: '77' };
    const first = await sandbox.call('POST', SEND, form(body));
    const second = await sandbox.call('POST', SEND, form(body));
    expect(second.json).toEqual(first.json);
    expect(await inbox()).toHaveLength(1);
  });

  test('the delivery status of a sent message is 10, of an unknown one 100', async () => {
    const sent = (await lookup()).json.entries[0].messageid;
    const answer = await sandbox.call('POST', STATUS, form({ messageid: `${sent},5` }));
    expect(answer.json.entries).toEqual([
      { messageid: sent, status: 10, statustext: expect.any(String) },
      { messageid: 5, status: 100, statustext: expect.any(String) },
    ]);
  });
});

describe('the inbox', () => {
  test.each(['+989121234567', '00989121234567', '989121234567', '09121234567', '9121234567', '۰۹۱۲۱۲۳۴۵۶۷'])(
    'the inbox finds the number written as %s',
    async (spelling) => {
      await lookup();
      expect(await inbox(spelling)).toHaveLength(1);
    },
  );

  test('the inbox finds a number whose plus sign was not encoded in the query', async () => {
    await lookup({ receptor: '09121234567' });
    expect((await sandbox.call('GET', `/_sandbox/sms?receptor=${PHONE}`)).json.data).toHaveLength(1);
  });

  test('the inbox lists the newest first, and all numbers if none is named', async () => {
    await lookup({ token: '111111' });
    await lookup({ token: '222222' });
    await lookup({ token: '333333', receptor: '09120000009' });
    const codes = (list: { code: string }[]) => list.map((sms) => sms.code);
    expect(codes(await inbox())).toEqual(['222222', '111111']);
    expect(codes((await sandbox.call('GET', '/_sandbox/sms')).json.data)).toEqual([
      '333333',
      '222222',
      '111111',
    ]);
  });

  test('the inbox keeps the newest ten thousand messages', async () => {
    const receptor = Array.from({ length: 200 }, () => PHONE).join(',');
    await sandbox.call('POST', SEND, form({ receptor: PHONE, message: 'the oldest' }));
    for (let batch = 0; batch < 50; batch += 1) {
      await sandbox.call('POST', SEND, form({ receptor, message: `batch ${batch}` }));
    }
    const messages = await inbox();
    expect(messages).toHaveLength(10_000);
    expect(messages[0].message).toBe('batch 49');
    expect(messages.at(-1).message).toBe('batch 0');
  });

  test('a receptor that is not a phone number is rejected with 422 under its name', async () => {
    const answer = await sandbox.call('GET', '/_sandbox/sms?receptor=nobody');
    expect(answer.status).toBe(422);
    expect(answer.json).toEqual({
      message: expect.any(String),
      errors: { receptor: ['must be a phone number'] },
    });
  });
});

const WITH_TOKEN2 = { receptor: PHONE, token: '1', token2: '2' };

describe('a refusal', () => {
  test.each([
    ['no template', { receptor: PHONE, token: '1' }, 400],
    ['an empty token', { receptor: PHONE, token: '', template: 'phone-change-fa' }, 406],
    ['a receptor that is not a number', { receptor: 'x', token: '1', template: 'phone-change-fa' }, 411],
    ['a token with a space', { receptor: PHONE, token: '1 2', template: 'phone-change-fa' }, 431],
    ['a template that the account does not have', { receptor: PHONE, token: '1', template: 't' }, 424],
    ['a token without a placeholder in the template', { ...WITH_TOKEN2, template: 'phone-change-fa' }, 432],
    [
      'a token over 100 characters',
      { receptor: PHONE, token: '1'.repeat(101), template: 'phone-change-fa' },
      431,
    ],
  ])(
    'a refusal has the same number in the envelope and the HTTP status: %s',
    async (_title, fields, status) => {
      const answer = await sandbox.call('POST', LOOKUP, form(fields));
      expect(answer.status).toBe(status);
      expect(answer.json).toEqual({ return: { status, message: expect.any(String) }, entries: null });
      expect((await sandbox.call('GET', '/_sandbox/sms')).json.data).toEqual([]);
    },
  );

  test('a sender line of another account sends nothing; the second line of the account does', async () => {
    const message = 'hello';
    const refused = await sandbox.call('POST', SEND, form({ receptor: PHONE, message, sender: '3000' }));
    expect([refused.status, refused.json.return.status, refused.json.entries]).toEqual([412, 412, null]);
    expect(await inbox()).toEqual([]);
    const sent = await sandbox.call('POST', SEND, form({ receptor: PHONE, message, sender: '2000500666' }));
    expect(sent.json.entries).toMatchObject([{ sender: '2000500666' }]);
  });

  test('an added template is filled with its tokens, until a reset', async () => {
    const template = 'order-paid';
    const text = 'Order %token of %token10 is paid';
    const put = await sandbox.call('PUT', `/_sandbox/sms/templates/${template}`, { text });
    expect(put.json).toEqual({ data: { name: template, text } });
    expect((await lookup({ template })).status).toBe(432);
    const sent = await lookup({ template, token10: 'Sara and Ali' });
    expect(sent.json.entries).toMatchObject([{ message: 'Order 482913 of Sara and Ali is paid' }]);
    await sandbox.call('DELETE', '/_sandbox');
    expect((await lookup({ template, token10: 'x' })).status).toBe(424);
    const wrong = await sandbox.call('PUT', `/_sandbox/sms/templates/${template}`, { text: 'no place' });
    expect([wrong.status, Object.keys(wrong.json.errors)]).toEqual([422, ['text']]);
  });

  test('parameters sent as JSON are missing parameters', async () => {
    const answer = await sandbox.call('POST', LOOKUP, {
      receptor: PHONE,
      token: '1',
      template: 'phone-change-fa',
    });
    expect(answer.json.return.status).toBe(400);
  });

  test('a key that begins with "invalid" is a bad key, and an unknown method returns 404', async () => {
    expect((await sandbox.call('POST', LOOKUP.replace('some-key', 'invalid-key'))).status).toBe(403);
    expect((await sandbox.call('POST', '/kavenegar/v1/k/sms/none.json')).json.return.status).toBe(404);
  });

  test('too many receptors are rejected with 414, and too long a message with 413', async () => {
    const receptor = Array.from({ length: 201 }, () => PHONE).join(',');
    expect((await sandbox.call('POST', SEND, form({ receptor, message: 'm' }))).status).toBe(414);
    const message = 'm'.repeat(901);
    expect((await sandbox.call('POST', SEND, form({ receptor: PHONE, message }))).status).toBe(413);
  });
});

describe('modes', () => {
  test('the mode refuse returns a refusal and records nothing', async () => {
    expect((await setMode('refuse')).json).toEqual({ data: { mode: 'refuse', receptor: null } });
    const answer = await lookup();
    expect(answer.status).toBe(411);
    expect(answer.json.return.status).toBe(411);
    expect(await inbox()).toEqual([]);
  });

  test('the mode unreachable closes the connection without a response and records nothing', async () => {
    await setMode('unreachable');
    await expect(lookup()).rejects.toThrow('fetch failed');
    expect(await inbox()).toEqual([]);
  });

  test('the mode slow responds late, and records a message when it is sent, unless its caller has given up', async () => {
    await setMode('slow');
    await expect(lookup({ token: '111111' }, AbortSignal.timeout(SLOW_MS / 10))).rejects.toThrow();
    const sending = timed(lookup());
    await pause(SLOW_MS / 10);
    expect(await inbox()).toEqual([]);
    const { result, tookMs } = await sending;
    expect(result.status).toBe(200);
    expect(tookMs).toBeGreaterThanOrEqual(SLOW_MS - 5);
    // The first message would have been recorded before.
    expect((await inbox()).map(({ code }: { code: string }) => code)).toEqual(['482913']);
  });

  test('a slow message from before a reset is never recorded', async () => {
    await setMode('slow');
    const sending = lookup().catch(() => 'dropped');
    await pause(SLOW_MS / 10);
    await sandbox.call('DELETE', '/_sandbox');
    expect(await sending).toBe('dropped');
    expect(await inbox()).toEqual([]);
  });

  test('a mode for one number, in any spelling, overrides the mode for all', async () => {
    await setMode('refuse', '0912 123 4567');
    expect((await lookup()).status).toBe(411);
    expect((await lookup({ receptor: '09120000009' })).status).toBe(200);
    await setMode('refuse');
    await setMode('ok', PHONE);
    expect((await lookup()).status).toBe(200);
    expect((await lookup({ receptor: '09120000009' })).status).toBe(411);
  });

  test('a reset ends every mode', async () => {
    await setMode('refuse');
    await setMode('unreachable', PHONE);
    await sandbox.call('DELETE', '/_sandbox');
    expect((await lookup()).status).toBe(200);
  });

  test('an unknown mode and a missing body are rejected with 422 under mode', async () => {
    const answer = await setMode('loud');
    expect(answer.status).toBe(422);
    expect(Object.keys(answer.json.errors)).toEqual(['mode']);
    expect((await sandbox.call('PUT', '/_sandbox/sms/mode')).status).toBe(422);
  });
});
