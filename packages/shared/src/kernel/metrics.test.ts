import { describe, expect, test } from '@jest/globals';
import { createMetrics, type Metrics } from './metrics.ts';

const seriesOf = async (metrics: Metrics, name: string): Promise<string[]> =>
  (await metrics.text()).split('\n').filter((line) => line.startsWith(name));

describe('a counter', () => {
  test('a counter has every combination of its labels from the start', async () => {
    const metrics = createMetrics('test', { defaults: false });
    const counter = metrics.counter({
      name: 'tries_total',
      help: 'Tries',
      labels: { channel: ['push', 'email'], outcome: ['sent', 'failed'] },
    });
    counter.inc({ channel: 'push', outcome: 'sent' });
    expect(await seriesOf(metrics, 'tries_total')).toEqual([
      'tries_total{channel="push",outcome="sent",service="test"} 1',
      'tries_total{channel="push",outcome="failed",service="test"} 0',
      'tries_total{channel="email",outcome="sent",service="test"} 0',
      'tries_total{channel="email",outcome="failed",service="test"} 0',
    ]);
  });
});

describe('gauges with a read function', () => {
  const GAUGES = { rows_waiting: 'Rows', rows_age_seconds: 'Age of the oldest' };

  test('gauges are read once for each scrape', async () => {
    const metrics = createMetrics('test', { defaults: false });
    let reads = 0;
    metrics.readGauges({
      gauges: GAUGES,
      read: async () => {
        reads += 1;
        return [{ values: { rows_waiting: reads, rows_age_seconds: 10 * reads } }];
      },
    });
    for (const scrape of [1, 2])
      expect(await seriesOf(metrics, 'rows_')).toEqual([
        `rows_waiting{service="test"} ${scrape}`,
        `rows_age_seconds{service="test"} ${10 * scrape}`,
      ]);
  });

  test.each([
    ['fails', () => Promise.reject(new Error('the database is gone'))],
    [
      'throws',
      () => {
        throw new Error('the broker is gone');
      },
    ],
    ['takes too long', () => new Promise<never>(() => undefined)],
  ])(
    'gauges have no value while their read %s, and the scrape has all other series',
    async (_how, failing) => {
      const metrics = createMetrics('test', { defaults: false });
      let isDown = false;
      const values = { rows_waiting: 3, rows_age_seconds: 4 };
      metrics.readGauges({ gauges: GAUGES, read: async () => (isDown ? failing() : [{ values }]) });
      expect(await seriesOf(metrics, 'rows_')).toHaveLength(2);
      isDown = true;
      const names = (await metrics.text()).match(/^\w+/gm);
      expect(names).toEqual(expect.arrayContaining(['build_info']));
      expect(names?.filter((name) => name.startsWith('rows_'))).toEqual([]);
    },
  );
});

test('a provider error that is a response is not measured as a failure', async () => {
  const metrics = createMetrics('test', { defaults: false });
  const refused = () => Promise.reject(new Error('no such file'));
  await expect(metrics.measureProvider('storage', refused, () => true)).rejects.toThrow('no such file');
  await expect(metrics.measureProvider('storage', refused)).rejects.toThrow('no such file');
  const counts = await seriesOf(metrics, 'provider_request_duration_seconds_count');
  expect(counts).toEqual([
    'provider_request_duration_seconds_count{service="test",target="storage",outcome="answered"} 1',
    'provider_request_duration_seconds_count{service="test",target="storage",outcome="failed"} 1',
  ]);
});
