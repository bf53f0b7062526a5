/** The export of traces and logs, including to a collector that does not respond. */
import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { expect, test } from '@jest/globals';
import { z } from 'zod';
import { MINUTE_MS } from '../../src/kernel/clock.ts';
import { commonShape, parseConfig } from '../../src/kernel/config.ts';
import type { ProcessName } from '../../src/kernel/process-name.ts';
import { startSpan } from '../../src/kernel/trace.ts';
import { startTelemetry } from '../../src/runtime/telemetry.ts';
import { startCollector } from '../../src/testing/collector.ts';

const configured = (env: Record<string, string>) =>
  parseConfig(
    z.object(commonShape(0)).omit({ PRIVATE_KEY_DIRECTORY: true, PUBLIC_KEYS_DIRECTORY: true }),
    env,
  );

const TRACE = 'a'.repeat(32);
const ASKED = `00-${TRACE}-${'b'.repeat(16)}-01`;
const REFUSED = `00-${TRACE}-${'b'.repeat(16)}-00`;
/** The sampler by ratio takes the exclusive or of the four parts of the id: this one is the last that it takes. */
const UNLIKELY = `00-${'f'.repeat(8)}${'0'.repeat(24)}-${'b'.repeat(16)}-01`;

const isRecorded = async (
  process: ProcessName,
  sampler: Record<string, string>,
  parent: string | undefined,
): Promise<boolean> => {
  const collector = await startCollector();
  const telemetry = await startTelemetry(
    process,
    configured({ OTEL_EXPORTER_OTLP_ENDPOINT: collector.url, ...sampler }),
  );
  const span = startSpan('GET', { kind: 'server', parent });
  span.end();
  await telemetry?.close();
  await collector.close();
  expect(span.traceparent.endsWith('-01')).toBe(collector.spans.length === 1);
  return collector.spans.length === 1;
};

test.each<[ProcessName, Record<string, string>, string | undefined, boolean]>([
  ['wallet', {}, undefined, true],
  ['wallet', {}, ASKED, true],
  ['wallet', {}, REFUSED, false],
  ['gateway', {}, REFUSED, true],
  ['gateway', { OTEL_TRACES_SAMPLER: 'parentbased_always_off' }, ASKED, false],
  ['wallet', { OTEL_TRACES_SAMPLER: 'parentbased_always_off' }, ASKED, true],
  ['wallet', { OTEL_TRACES_SAMPLER: 'always_off' }, ASKED, false],
  ['wallet', { OTEL_TRACES_SAMPLER: 'always_on' }, REFUSED, true],
  [
    'gateway',
    { OTEL_TRACES_SAMPLER: 'parentbased_traceidratio', OTEL_TRACES_SAMPLER_ARG: '0' },
    ASKED,
    false,
  ],
  [
    'gateway',
    { OTEL_TRACES_SAMPLER: 'parentbased_traceidratio', OTEL_TRACES_SAMPLER_ARG: '0.5' },
    UNLIKELY,
    false,
  ],
  ['gateway', { OTEL_TRACES_SAMPLER: 'traceidratio', OTEL_TRACES_SAMPLER_ARG: '1' }, undefined, true],
])('%s with %j records a span below %s: %s', async (process, sampler, parent, expected) => {
  expect(await isRecorded(process, sampler, parent)).toBe(expected);
});

const module = (path: string): string => JSON.stringify(new URL(`../../src/${path}`, import.meta.url).href);

/** Five times as many as fit the queues. */
const COUNT = 10_000;
/** More than the queue and the batches that are on their way, and far less than everything. */
const KEPT_MAX = COUNT / 2;

/** Ends with the spans and log records that the process still has in memory, and with how long the end took. */
const program = (url: string): string => `
  import { setImmediate as nextTick } from 'node:timers/promises';
  import { queryObjects } from 'node:v8';
  import { LoggerProvider } from '@opentelemetry/sdk-logs';
  import { AlwaysOnSampler, TracerProvider } from '@opentelemetry/sdk-trace';
  import { createLog } from ${module('kernel/log.ts')};
  import { startSpan } from ${module('kernel/trace.ts')};
  import { startTelemetry } from ${module('runtime/telemetry.ts')};
  const Span = new TracerProvider({ sampler: new AlwaysOnSampler() }).getTracer('t').startSpan('s').constructor;
  let LogRecord;
  const processors = [{ onEmit: (record) => { LogRecord = record.constructor; } }];
  new LoggerProvider({ processors }).getLogger('t').emit({ body: '' });
  const telemetry = await startTelemetry('wallet', {
    OTEL_EXPORTER_OTLP_ENDPOINT: ${JSON.stringify(url)},
    OTEL_TRACES_SAMPLER: 'always_on',
    OTEL_TRACES_SAMPLER_ARG: 1,
  });
  const log = createLog({ service: 'wallet', destination: telemetry.logDestination });
  telemetry.reportTo(log);
  for (let index = 0; index < ${COUNT}; index += 1) {
    startSpan('GET', { kind: 'server', parent: undefined }).end();
    log.info({ index }, 'line');
    if (index % 500 === 0) await nextTick();
  }
  const kept = [Span, LogRecord].map((type) => queryObjects(type, { format: 'count' }));
  const startedAt = performance.now();
  await telemetry.close();
  process.stderr.write(JSON.stringify({ kept, closeMs: performance.now() - startedAt }));
  process.exit(0);`;

const run = promisify(execFile);

const loadedBy = async (url: string) => {
  const args = ['--disable-warning=ExperimentalWarning', '--input-type=module', '--eval', program(url)];
  const env = { ...process.env, OTEL_EXPORTER_OTLP_TIMEOUT: '600' };
  const { stdout, stderr } = await run(process.execPath, args, { env, maxBuffer: 100 * 1024 * 1024 });
  const lines = stdout.trim().split('\n');
  const { kept, closeMs } = JSON.parse(stderr) as { kept: [number, number]; closeMs: number };
  return {
    kept,
    closeMs,
    warnings: lines.filter((line) => line.includes('telemetry does not reach')),
    lines,
  };
};

test('a collector that does not work costs bounded memory, one line a minute, and a second at the end', async () => {
  const hanging = await startCollector(() => undefined);
  const failing = await startCollector((_request, response) => void response.writeHead(503).end());
  const startedAt = performance.now();
  const runs = await Promise.all([hanging.url, failing.url, 'http://127.0.0.1:1'].map(loadedBy));
  const minutes = Math.floor((performance.now() - startedAt) / MINUTE_MS);
  await Promise.all([hanging.close(), failing.close()]);
  for (const { kept, closeMs, warnings, lines } of runs) {
    expect(lines.length - warnings.length).toBe(COUNT);
    expect(warnings.length).toBeGreaterThan(0);
    expect(warnings.length).toBeLessThanOrEqual(1 + minutes);
    expect(closeMs).toBeLessThan(2_000);
    for (const count of kept) expect([count > 0, count < KEPT_MAX]).toEqual([true, true]);
  }
});
