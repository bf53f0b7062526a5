import { spawnSync } from 'node:child_process';
import { setImmediate as turn } from 'node:timers/promises';
import { beforeAll, describe, expect, test } from '@jest/globals';
import { internalError, message, unavailable } from './error.ts';
import type { Logger } from './log.ts';
import { runWithTrace } from './trace.ts';

/** An instance of its own, because test files that run before this one in the same process hide their secrets. */
const ownInstance = './log.ts?of-this-test';
const { createAccessLog, createLog, hideSecrets, redactText }: typeof import('./log.ts') = await import(
  ownInstance
);

const SECRETS = {
  password: 'correct-horse-battery',
  token: `fps_${'Ab3-'.repeat(10)}1f2e3d4c`,
  jwt: 'eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiI3In0.c2lnbmF0dXJl',
  code: '482915',
  phone: '+989121234567',
  localPhone: '09121234568',
  email: 'somebody@example.com',
  apiKey: '6B3172757263446A',
} as const;

/** Everything that the log printed. */
const printedBy = (work: (log: Logger) => void): string => {
  const lines: string[] = [];
  work(createLog({ service: 'test', destination: { write: (line) => void lines.push(line) } }));
  for (const line of lines) expect(() => JSON.parse(line) as unknown).not.toThrow();
  expect(lines.length).toBeGreaterThan(0);
  return lines.join('');
};

const expectNoSecretIn = (printed: string): void => {
  for (const secret of Object.values(SECRETS)) {
    expect(printed).not.toContain(secret);
    expect(printed).not.toContain(secret.replace(/^\+/, ''));
  }
};

const kavenegar = `https://api.kavenegar.com/v1/${SECRETS.apiKey}/verify/lookup.json`;
const lookup = `${kavenegar}?receptor=%2B989121234567&token=${SECRETS.code}&template=delete`;

describe('secrets', () => {
  beforeAll(() => hideSecrets([SECRETS.apiKey]));

  const fields = {
    password: SECRETS.password,
    current_password: SECRETS.password,
    newPassword: SECRETS.password,
    access_token: SECRETS.token,
    purchaseToken: 'opaque-purchase-token',
    confirmation_code: SECRETS.code,
    phone: SECRETS.phone,
    receptor: SECRETS.localPhone,
    email: SECRETS.email,
    api_key: SECRETS.apiKey,
    headers: {
      authorization: `Bearer ${SECRETS.jwt}`,
      'x-caller-context': SECRETS.jwt,
      'set-cookie': 'sid=1',
    },
  };

  test.each([
    ['at the top', fields],
    ['one level down', { request: fields }],
    ['five levels down and in a list', { a: { b: { c: [{ d: { e: fields } }] } } }],
    [
      'in text under any name',
      { note: `call ${SECRETS.phone}.`, url: lookup, header: `Bearer ${SECRETS.jwt}` },
    ],
  ])('a secret is not logged from a field %s', (_where, entry) => {
    const printed = printedBy((log) => log.info(entry, 'said'));
    expectNoSecretIn(printed);
    expect(printed).not.toMatch(/opaque-purchase-token|sid=1/);
  });

  test.each([
    ['a phone number', `SMS to ${SECRETS.phone} failed`],
    ['a phone number at the end of a sentence', `SMS to ${SECRETS.localPhone}. Later`],
    ['a phone number in brackets', `(${SECRETS.localPhone}, 00989121234567)`],
    ['a token', `revoked ${SECRETS.token}`],
    ['a provider key and a code in an address', `GET ${lookup} failed`],
    ['a connection string', `mongodb://root:${SECRETS.password}@db.internal:27017/?x=1`],
    ['a body', `sent {"login":"${SECRETS.email}","password":"${SECRETS.password}","code":"${SECRETS.code}"}`],
    ['a duplicate key', `E11000 dup key: { email: "${SECRETS.email}" }`],
  ])('a secret is not logged from a message, an error or its causes: %s', (_what, text) => {
    const inner = new Error(text);
    const outer = new Error('could not be done', { cause: new Error('deeper', { cause: inner }) });
    const printed = printedBy((log) => {
      log.info(text);
      log.info({ a: 1 }, text);
      log.info('%s happened', text);
      log.error(inner);
      log.error({ err: inner });
      log.error({ err: outer }, 'failed');
      log.error({ error: outer, reason: inner, list: [inner] }, 'failed');
      log.error({ err: unavailable(text, inner) }, text);
      log.error({ err: internalError('x', message('error.internal'), text, outer) });
      log.child({ part: 'x' }).warn({ err: text }, 'a string thrown');
    });
    expectNoSecretIn(printed);
  });

  test('a secret is not logged from the properties of an error', () => {
    const error = Object.assign(new Error('refused'), {
      config: { url: lookup, headers: { authorization: SECRETS.jwt } },
      response: { body: { password: SECRETS.password } },
    });
    expectNoSecretIn(printedBy((log) => log.error({ err: error }, 'refused')));
  });

  test('a secret is not logged from the fields of a child logger', () => {
    expectNoSecretIn(printedBy((log) => log.child({ phone: SECRETS.phone }).info('hello')));
  });
});

describe('the value of a secret', () => {
  /** Every encoding leaves the letters in the middle unchanged. */
  const SECRET = `"/ +é${'KqWvBnTr'}&%\\`;
  const core = 'KqWvBnTr';
  const address = `https://provider.example/v1/${encodeURIComponent(SECRET)}/send`;
  beforeAll(() => hideSecrets([SECRET]));

  test.each<[string, (log: Logger) => void]>([
    ['in a message', (log) => log.info(`refused ${SECRET}.`)],
    ['in a field', (log) => log.info({ note: SECRET, list: [{ note: SECRET }] }, 'said')],
    ['in a field of a child logger', (log) => log.child({ note: SECRET }).info('said')],
    ['in an address', (log) => log.info({ url: address, lower: address.toLowerCase() }, address)],
    ['in a URL object', (log) => log.info({ url: new URL(address) })],
    ['in a path that only a URL encodes', (log) => log.info(encodeURI(SECRET))],
    ['in a form', (log) => log.info(new URLSearchParams({ body: SECRET }).toString())],
    ['in JSON', (log) => log.info(JSON.stringify({ body: SECRET }))],
    [
      'in an error and its cause',
      (log) => log.error(new Error(SECRET, { cause: new Error(`fetch ${address} failed`) })),
    ],
  ])('the value of a secret is not logged %s', (_where, work) => {
    expect(printedBy(work).toLowerCase()).not.toContain(core.toLowerCase());
  });

  test('no line of a private key is logged', () => {
    const lines = ['MIIEvQIBADANBgkqhkiG9w0BAQ', 'EFAASCBKcwggSjAgEAAoIBAQC7'];
    const pem = ['-----BEGIN PRIVATE KEY-----', ...lines, '-----END PRIVATE KEY-----'].join('\n');
    hideSecrets([pem]);
    const printed = printedBy((log) => {
      log.info(`${pem} ${pem.replaceAll('\n', '\\n')} ${encodeURIComponent(pem)} ${lines[1]}`);
    });
    expect(lines.filter((line) => printed.includes(line))).toEqual([]);
  });

  test('a new value is hidden together with the previous one', () => {
    hideSecrets(['first-value-9']);
    hideSecrets(['second-value-9']);
    expect(redactText('first-value-9 second-value-9')).toBe('[redacted] [redacted]');
  });

  test('a secret that contains another one is hidden completely', () => {
    hideSecrets(['inner-value', 'inner-value-outer']);
    expect(redactText('an inner-value-outer and an inner-value')).toBe('an [redacted] and an [redacted]');
  });

  test('a secret of fewer than eight characters leaves the log as it is', () => {
    hideSecrets(['', 'e', 'sandbox', 'zibal']);
    const text = 'the sandbox answered for zibal';
    expect(redactText(text)).toBe(text);
  });
});

describe('useful values', () => {
  test('ids, amounts, times, hosts and error codes stay readable', () => {
    const entry = {
      user_id: 12,
      amount: 500_000_000,
      at: '2026-01-15 10:00:00',
      millis: 1_768_471_200_000,
      id: '0b1f6a3e-1234-4bcd-8123-123456789012',
      status_code: 500,
      token_kind: 'session',
      nothing: null,
      address: 'http://127.0.0.1:8101/api/v1/gyms/12',
    };
    const printed = JSON.parse(printedBy((log) => log.info(entry, 'payment 12 of 500000000'))) as object;
    expect(printed).toMatchObject({
      ...entry,
      level: 'info',
      service: 'test',
      msg: 'payment 12 of 500000000',
    });
  });

  test('an error keeps its type, code, message, stack and the messages of its causes', () => {
    const cause = Object.assign(new Error('connect ECONNREFUSED 127.0.0.1:27017'), { code: 'ECONNREFUSED' });
    const printed = JSON.parse(
      printedBy((log) => log.error({ err: unavailable('wallet.Book', cause) }, 'gRPC call failed')),
    ) as { err: Record<string, string> };
    expect(printed.err).toMatchObject({ type: 'AppError', error_code: 'unavailable', kind: 'unavailable' });
    expect(printed.err.message).toBe('wallet.Book: connect ECONNREFUSED 127.0.0.1:27017');
    expect(printed.err.stack).toContain('log.test.ts');
  });

  test('a cyclic object does not break the log', () => {
    const circle: Record<string, unknown> = { a: 1 };
    circle.self = circle;
    expect(printedBy((log) => log.info(circle, 'round'))).toContain('round');
  });

  test('every line has the ids of the current request, trace and span', () => {
    const traceparent = `00-${'a'.repeat(32)}-${'b'.repeat(16)}-01`;
    const printed = printedBy((log) =>
      runWithTrace({ traceparent, requestId: 'request-1' }, () => log.info('served')),
    );
    const ids = { trace_id: 'a'.repeat(32), span_id: 'b'.repeat(16), request_id: 'request-1' };
    expect(JSON.parse(printed)).toMatchObject(ids);
  });

  test('a long text is redacted in linear time', () => {
    hideSecrets([`${'a'.repeat(500)}b`, `${'%2'.repeat(500)}b`, `${'\\'.repeat(500)}b`]);
    const before = process.cpuUsage();
    for (const piece of ['a', '1', 'a.', '?a=', 'eyJa.', '"token":', '%2', '\\'])
      redactText(piece.repeat(200_000 / piece.length));
    // An idle machine needs a tenth of it; a pattern with catastrophic backtracking takes minutes.
    expect(process.cpuUsage(before).user / 1_000).toBeLessThan(3_000);
  });
});

describe('request lines', () => {
  const served = { trace_id: 't', span_id: 's', method: 'GET', route: '/', status: '200', ms: 1 };

  test('request lines of one event loop tick are written by one call, those of the next tick by another', async () => {
    const written: string[] = [];
    const write = (text: string): void => void written.push(text);
    const logRequest = createAccessLog(createLog({ service: 'test', destination: { write } }));
    for (const request_id of ['1', '2']) logRequest({ ...served, request_id });
    await turn();
    logRequest({ ...served, request_id: '3' });
    await turn();
    const ids = written.map((text) =>
      text
        .trim()
        .split('\n')
        .map((line) => JSON.parse(line).request_id),
    );
    expect(ids).toEqual([['1', '2'], ['3']]);
  });

  test('request lines are written even if the process exits before the tick ends', () => {
    const program = `
      import { createAccessLog, createLog } from ${JSON.stringify(new URL('./log.ts', import.meta.url).href)};
      createAccessLog(createLog({ service: 'test' }))(${JSON.stringify({ ...served, request_id: 'last' })});
      process.exit(3);`;
    const args = ['--disable-warning=ExperimentalWarning', '--input-type=module', '--eval', program];
    const { status, stdout } = spawnSync(process.execPath, args, { encoding: 'utf8' });
    expect([status, JSON.parse(stdout).request_id]).toEqual([3, 'last']);
  });
});
