/** Converts the Prometheus metrics to OpenTelemetry. Each metric is counted once and read by both. */
import { ValueType } from '@opentelemetry/api';
import { millisToHrTime } from '@opentelemetry/core';
import type { Resource } from '@opentelemetry/resources';
import {
  AggregationTemporality,
  DataPointType,
  type Histogram,
  type MetricData,
  type MetricProducer,
} from '@opentelemetry/sdk-metrics';
import type { MetricObjectWithValues, MetricValue, Registry } from 'prom-client';

type Labels = Record<string, string | number>;

/** The name tells the kind of a histogram value: `…_bucket` (with `le`), `…_sum` or `…_count`. */
type Value = MetricValue<string> & { metricName?: string };
type Metric = MetricObjectWithValues<Value>;

const SCOPE = { name: 'prom-client' };

export const createMetricProducer = (registry: Registry, resource: Resource): MetricProducer => {
  const startTime = millisToHrTime(Math.round(performance.timeOrigin));
  return {
    collect: async () => {
      const collected = (await registry.getMetricsAsJSON()) as unknown as Metric[];
      const endTime = millisToHrTime(Math.round(performance.timeOrigin + performance.now()));
      const metrics = collected.map((metric) => toMetricData(metric, { startTime, endTime }));
      return { resourceMetrics: { resource, scopeMetrics: [{ scope: SCOPE, metrics }] }, errors: [] };
    },
  };
};

type Times = Pick<MetricData['dataPoints'][number], 'startTime' | 'endTime'>;

const toMetricData = (metric: Metric, times: Times): MetricData => {
  const common = {
    descriptor: { name: metric.name, description: metric.help, unit: '', valueType: ValueType.DOUBLE },
    aggregationTemporality: AggregationTemporality.CUMULATIVE,
  };
  // prom-client types it as an enum, but the value is the name.
  const type = String(metric.type);
  if (type === 'histogram') {
    const dataPoints = histogramsIn(metric.values).map(({ labels, value }) => ({
      ...times,
      attributes: labels,
      value,
    }));
    return { ...common, dataPointType: DataPointType.HISTOGRAM, dataPoints };
  }
  const dataPoints = metric.values
    .filter(({ value }) => Number.isFinite(value))
    .map(({ labels, value }) => ({ ...times, attributes: labels as Labels, value }));
  return type === 'counter'
    ? { ...common, dataPointType: DataPointType.SUM, isMonotonic: true, dataPoints }
    : { ...common, dataPointType: DataPointType.GAUGE, dataPoints };
};

const histogramsIn = (values: readonly Value[]): { labels: Labels; value: Histogram }[] => {
  const series = Map.groupBy(values, ({ labels: { le: _, ...labels } }) => JSON.stringify(labels));
  return [...series].map(([key, parts]) => ({
    labels: JSON.parse(key) as Labels,
    value: toHistogram(parts),
  }));
};

/** The buckets of Prometheus are cumulative, and the last one has no bound. */
const toHistogram = (parts: readonly Value[]): Histogram => {
  const buckets = parts.filter(({ labels }) => labels.le !== undefined);
  const counts = buckets.map(({ value }, index) => value - (buckets[index - 1]?.value ?? 0));
  const boundaries = buckets.slice(0, -1).map(({ labels }) => Number(labels.le));
  const partOf = (suffix: string): number =>
    parts.find(({ metricName }) => metricName?.endsWith(suffix))?.value ?? 0;
  return { buckets: { boundaries, counts }, sum: partOf('_sum'), count: partOf('_count') };
};
