/** The contract of every SMS provider, tested with its emulator and with servers that misbehave. */
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { LOCALES } from '@fitness/shared/kernel/i18n/translate.ts';
import { createMetrics, type Metrics } from '@fitness/shared/kernel/metrics.ts';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import { productEnvironment, refusedEnvironment } from '../../../sandbox/src/providers/index.ts';
import { createSmsProvider, SMS_PROVIDERS } from '../src/clients/sms-providers/index.ts';
import type { SmsProvider } from '../src/clients/sms-providers/provider.ts';
import { CODE_PURPOSES } from '../src/domain/confirmation-code.ts';
import { type SmsSandbox, startSmsSandbox } from './sms-sandbox.ts';
import { identityConfig } from './support.ts';

const SHORT_TIMEOUT_MS = '100';

let sandbox: SmsSandbox;
let misbehaving: Server;
let answer: { status: number; body: string };
let metrics: Metrics;
beforeAll(async () => {
  sandbox = await startSmsSandbox();
  misbehaving = createServer((_request, response) => {
    response.writeHead(answer.status);
    response.end(answer.body);
  });
  await new Promise<void>((resolve) => misbehaving.listen(0, '127.0.0.1', resolve));
});
afterAll(async () => {
  misbehaving.close();
  await sandbox.close();
});
beforeEach(() => {
  metrics = createMetrics('identity', { defaults: false });
});

let phones = 0;
const newPhone = (): string => {
  phones += 1;
  return `+98912${String(phones).padStart(7, '0')}`;
};

describe.each(SMS_PROVIDERS)('%s', (name) => {
  const timeout = `${name.toUpperCase()}_TIMEOUT_MS`;
  const open = (env: Record<string, string>): SmsProvider =>
    createSmsProvider(identityConfig({ SMS_PROVIDER: name, ...env }), metrics);
  const usual = (): SmsProvider => open(productEnvironment(sandbox.url));
  const countedAs = async (metric: string): Promise<string[]> =>
    (await metrics.text()).match(new RegExp(`^${metric}\\{.*\\} 1$`, 'gm')) ?? [];

  const codes = CODE_PURPOSES.flatMap((purpose) => LOCALES.map((locale) => ({ purpose, locale })));
  test.each(codes)('a code arrives for $purpose in the language $locale', async ({ purpose, locale }) => {
    const receptor = newPhone();
    const sent = await usual().sendCode({ receptor, purpose, code: '482913', locale });
    expect(sent).toEqual({ outcome: 'sent' });
    expect(await sandbox.received(receptor)).toMatchObject([{ code: '482913' }]);
    expect(await countedAs('sms_sent_total')).toEqual([
      expect.stringMatching(/message="code",outcome="sent"/),
    ]);
  });

  test('a text arrives unchanged, and only once if another process repeats it with its id', async () => {
    const [receptor, text] = [newPhone(), 'رمز عبور شما تغییر کرد. & + 100%'];
    for (const _process of ['first', 'second']) {
      metrics = createMetrics('identity', { defaults: false });
      expect(await usual().sendText({ receptor, text, id: 7n })).toEqual({ outcome: 'sent' });
    }
    expect(await sandbox.received(receptor)).toMatchObject([{ message: text }]);
  });

  test.each([
    ['refuse', 'refused'],
    ['unreachable', 'unknown'],
    ['slow', 'unknown'],
  ] as const)('an SMS in the mode %s has the outcome %s and does not arrive', async (mode, outcome) => {
    const receptor = newPhone();
    await sandbox.setMode(mode, receptor);
    const provider = open({ ...productEnvironment(sandbox.url), [timeout]: SHORT_TIMEOUT_MS });
    const code = { receptor, purpose: 'reset', code: '482913', locale: 'en' } as const;
    expect(await provider.sendCode(code)).toMatchObject({ outcome });
    expect(await provider.sendText({ receptor, text: 'hello', id: 8n })).toMatchObject({ outcome });
    expect(await sandbox.received(receptor)).toEqual([]);
  });

  test('an SMS with refused credentials is refused, and the reason does not contain them', async () => {
    const refused = await open(refusedEnvironment(sandbox.url)).sendText({
      receptor: newPhone(),
      text: 'hello',
      id: 9n,
    });
    expect(refused).toEqual({ outcome: 'refused', reason: expect.not.stringContaining('invalid-') });
    expect(await countedAs('provider_request_duration_seconds_count')).toEqual([
      expect.stringContaining(`target="${name}",outcome="answered"`),
    ]);
  });

  test('an SMS is refused if the provider cannot be reached, because it was not sent', async () => {
    const closed = await startSmsSandbox();
    await closed.close();
    const provider = open(productEnvironment(closed.url));
    const refused = await provider.sendText({ receptor: newPhone(), text: 'hello', id: 10n });
    expect(refused).toEqual({ outcome: 'refused', reason: 'ECONNREFUSED' });
  });

  test.each([
    [503, '<html>unavailable</html>'],
    [200, '<html>moved</html>'],
    [200, '{"status":"ok"}'],
    [503, '{"status":503}'],
    [200, ''],
  ])('the response %i %j of a proxy is a failure with an unknown outcome', async (status, body) => {
    answer = { status, body };
    const { port } = misbehaving.address() as AddressInfo;
    const provider = open(productEnvironment(`http://127.0.0.1:${port}`));
    const sent = await provider.sendText({ receptor: newPhone(), text: 'hello', id: 11n });
    expect(sent).toEqual({ outcome: 'unknown', reason: `unreadable response with HTTP ${status}` });
    expect(await countedAs('provider_request_duration_seconds_count')).toEqual([
      expect.stringContaining(`target="${name}",outcome="failed"`),
    ]);
  });
});
