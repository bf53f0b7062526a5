/** The client of the email relay. */
import { createMetrics } from '@fitness/shared/kernel/metrics.ts';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { type Sandbox, startSandbox } from '../../../sandbox/src/service.ts';
import { createMail } from '../src/clients/mail.ts';

let sandbox: Sandbox;
beforeAll(async () => {
  sandbox = await startSandbox();
});
afterAll(() => sandbox.close());

/** The relay of the sandbox offers no TLS. */
const sendTo = async (to: string, requireTls: boolean) => {
  const mails = createMail(
    {
      url: `smtp://sandbox:sandbox@127.0.0.1:${sandbox.smtpPort}`,
      from: 'Fitness <no-reply@fitness.example>',
      timeoutMs: 30_000,
      requireTls,
    },
    { metrics: createMetrics('identity', { defaults: false }) },
  );
  const sent = await mails.send({
    to,
    subject: 's',
    text: 't',
    html: '<p>t</p>',
    id: `notification-${to.length}`,
  });
  mails.close();
  const answer = await fetch(`${sandbox.url}/_sandbox/emails?to=${encodeURIComponent(to)}`);
  return { sent, received: ((await answer.json()) as { data: unknown[] }).data.length };
};

test('a relay without TLS gets neither email nor password when TLS is required', async () => {
  expect(await sendTo('required@example.org', true)).toEqual({
    sent: { outcome: 'failed', reason: expect.stringContaining('the email relay failed') },
    received: 0,
  });
  expect(await sendTo('optional@example.org', false)).toEqual({ sent: { outcome: 'sent' }, received: 1 });
});

test('the reason of a failure does not repeat the address', async () => {
  const to = 'busy@example.org';
  await fetch(`${sandbox.url}/_sandbox/emails/mode`, {
    method: 'PUT',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ mode: 'busy', to }),
  });
  const { sent } = await sendTo(to, false);
  expect(sent).toEqual({ outcome: 'failed', reason: expect.stringContaining('451') });
  expect(JSON.stringify(sent)).not.toContain(to);
});
