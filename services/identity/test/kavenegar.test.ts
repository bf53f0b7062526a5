/** Outcomes of calls to Kavenegar, including failures of Kavenegar itself. */
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { createMetrics } from '@fitness/shared/kernel/metrics.ts';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { createKavenegar } from '../src/clients/kavenegar.ts';

let server: Server;
let answer: { status: number; body: string };
beforeAll(async () => {
  server = createServer((_request, response) => {
    response.writeHead(answer.status);
    response.end(answer.body);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
});
afterAll(() => {
  server.close();
});

const REFUSAL = JSON.stringify({ return: { status: 418, message: 'no credit' } });
const SENT = JSON.stringify({ return: { status: 200, message: 'ok' } });

test.each([
  ['an error page of a proxy', 503, '<html>unavailable</html>', 'unknown', 'failed'],
  ['a refusal', 418, REFUSAL, 'refused', 'answered'],
  ['a success', 200, SENT, 'sent', 'answered'],
])('%s is counted with its own outcome', async (_name, status, body, outcome, counted) => {
  answer = { status, body };
  const metrics = createMetrics('identity', { defaults: false });
  const { port } = server.address() as AddressInfo;
  const options = {
    baseUrl: `http://127.0.0.1:${port}`,
    apiKey: 'key',
    templates: {} as never,
    timeoutMs: 5_000,
  };
  const kavenegar = createKavenegar(options, metrics);
  expect(await kavenegar.sendText({ receptor: '+989120000001', text: 'hello', id: 1n })).toMatchObject({
    outcome,
  });
  const series = (await metrics.text()).match(/^provider_request_duration_seconds_count.*\} 1$/gm);
  expect(series).toEqual([expect.stringContaining(`outcome="${counted}"`)]);
});
