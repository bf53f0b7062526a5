/** Checks the Grafana dashboards and Prometheus configurations without either; test/e2e/dashboards.test.ts runs them. */
import { createMetrics } from '@fitness/shared/kernel/metrics.ts';
import { describe, expect, test } from '@jest/globals';
import { parse } from 'yaml';
import { processes } from '../../scripts/lib/process-definitions.mjs';
import { composeServices } from './deployments.ts';
import { alerts, listedMetrics, metricsOf, sectionOf } from './promql.ts';
import { files, read } from './support.ts';

interface Panel {
  id: number;
  type: string;
  title: string;
  description: string;
  gridPos: { x: number; y: number; w: number; h: number };
  datasource: { type: string; uid: string };
  fieldConfig: { defaults: { unit: string } };
  targets: { expr: string; legendFormat: string }[];
}

interface Dashboard {
  uid: string;
  title: string;
  schemaVersion: number;
  templating: { list: { name: string; type: string; query: string }[] };
  panels: Panel[];
}

const dashboards = files
  .filter((file) => file.startsWith('deploy/observability/dashboards/'))
  .map((file) => ({ file, dashboard: JSON.parse(read(file)) as Dashboard }));
const panels = dashboards.flatMap(({ dashboard }) => dashboard.panels);

/** Grafana's names for the units in use. */
const UNITS = ['short', 's', 'bytes', 'percentunit', 'cpm', 'ops', 'reqps', 'eps'];
const COLUMNS = 24;

test('there are three dashboards, each with a unique id and title', () => {
  expect(dashboards).toHaveLength(3);
  expect(new Set(dashboards.map(({ dashboard }) => dashboard.uid)).size).toBe(3);
  expect(new Set(dashboards.map(({ dashboard }) => dashboard.title)).size).toBe(3);
});

describe.each(dashboards)('$file', ({ dashboard }) => {
  test('a dashboard lets its reader choose the data source', () => {
    expect(dashboard.templating.list).toEqual([
      expect.objectContaining({ name: 'datasource', type: 'datasource', query: 'prometheus' }),
    ]);
    expect(dashboard.schemaVersion).toBeGreaterThanOrEqual(39);
    for (const { datasource } of dashboard.panels)
      expect(datasource).toEqual({ type: 'prometheus', uid: `$\{datasource}` });
  });

  test('a dashboard describes each panel and its unit', () => {
    expect(new Set(dashboard.panels.map(({ id }) => id)).size).toBe(dashboard.panels.length);
    expect(new Set(dashboard.panels.map(({ title }) => title)).size).toBe(dashboard.panels.length);
    for (const { type, description, fieldConfig, targets } of dashboard.panels) {
      expect(['timeseries', 'stat']).toContain(type);
      expect(description).toMatch(/\.$/);
      expect(UNITS).toContain(fieldConfig.defaults.unit);
      expect(targets.length).toBeGreaterThan(0);
      for (const { legendFormat } of targets) expect(legendFormat).not.toBe('');
    }
  });

  test('the panels of a dashboard do not overlap and fit the page width', () => {
    const panelAt = new Map<string, string>();
    const overlaps: string[] = [];
    for (const { title, gridPos } of dashboard.panels) {
      expect(gridPos.x + gridPos.w).toBeLessThanOrEqual(COLUMNS);
      for (let x = gridPos.x; x < gridPos.x + gridPos.w; x += 1) {
        for (let y = gridPos.y; y < gridPos.y + gridPos.h; y += 1) {
          const other = panelAt.get(`${x}/${y}`);
          if (other !== undefined) overlaps.push(`${other} and ${title}`);
          panelAt.set(`${x}/${y}`, title);
        }
      }
    }
    expect(overlaps).toEqual([]);
  });

  test('a dashboard reads metrics that exist', () => {
    const ofNode = createMetrics('any').registry.getMetricsAsArray();
    const existing = new Set([...listedMetrics(), ...ofNode.map(({ name }) => name)]);
    const read = dashboard.panels.flatMap(({ targets }) =>
      targets.flatMap(({ expr }) => [...metricsOf(expr)]),
    );
    expect(read.length).toBeGreaterThan(dashboard.panels.length / 2);
    expect(read.filter((name) => !existing.has(name))).toEqual([]);
  });
});

test.each(alerts)('$alert has a panel that shows its metrics and links to its section', (rule) => {
  const { alert, expr } = rule;
  const leading = panels.filter(({ description }) =>
    description.split(/[\s(),]+/).some((word) => word.replace(/\.$/, '') === sectionOf(rule)),
  );
  const shown = leading.flatMap(({ targets }) => targets.flatMap((target) => [...metricsOf(target.expr)]));
  expect(leading.length).toBeGreaterThan(0);
  for (const { description } of leading) expect(description).toContain(alert);
  expect([...metricsOf(expr)].filter((metric) => !shown.includes(metric))).toEqual([]);
});

test('no panel links to a missing section', () => {
  const named = panels.flatMap(({ description }) => description.match(/docs\/[\w/.-]+#\w+/g) ?? []);
  const sections = alerts.map(sectionOf);
  expect(named.filter((path) => !sections.includes(path))).toEqual([]);
});

describe.each([
  ['prometheus.yml', (name: string) => name],
  ['prometheus.npm-start.yml', () => '127.0.0.1'],
])('%s', (file, hostOf) => {
  const text = read(`deploy/observability/${file}`);
  const { scrape_configs, rule_files } = parse(text) as {
    rule_files: string[];
    scrape_configs: {
      job_name: string;
      honor_labels: boolean;
      static_configs: { targets: string[]; labels: Record<string, string> }[];
    }[];
  };

  test('Prometheus scrapes each process under its name, with the alert rules', () => {
    const [job] = scrape_configs;
    expect(scrape_configs).toHaveLength(1);
    // The alerts select `up{job="fitness"}`.
    expect(job).toMatchObject({ job_name: 'fitness', honor_labels: true });
    const scraped = job?.static_configs.map(({ targets, labels }) => `${labels.service} ${targets.join()}`);
    const expected = processes
      .filter(({ name }) => name !== 'sandbox')
      .map(({ name, ports }) => `${name} ${hostOf(name)}:${ports.operations ?? ports.http}`);
    expect(scraped).toEqual(expected);
    expect(rule_files).toEqual(['alerts.yml']);
  });
});

describe('the profile observability of docker-compose.yml', () => {
  const services = composeServices();
  const added = Object.entries(services).filter(([, { profiles = [] }]) =>
    profiles.includes('observability'),
  );

  test('the profile contains Prometheus and Grafana, which start with no other profile', () => {
    expect(added.map(([name]) => name).sort()).toEqual(['grafana', 'prometheus']);
    for (const [, { profiles }] of added) expect(profiles).toEqual(['observability']);
  });

  test.each(added)(
    '%s is reachable only from this machine, on its own port, and has limits',
    (_name, service) => {
      expect(service.ports).toEqual([expect.stringMatching(/^127\.0\.0\.1:\$\{[A-Z]+_PORT:-\d+\}:\d+$/)]);
      expect(service).toMatchObject({
        read_only: true,
        cap_drop: ['ALL'],
        security_opt: ['no-new-privileges:true'],
        mem_limit: expect.any(String),
        cpus: expect.any(Number),
        pids_limit: expect.any(Number),
      });
    },
  );

  test('the profile mounts only existing files, and Prometheus reaches the processes', () => {
    const mounted = added.flatMap(([, { volumes = [] }]) =>
      volumes.filter((volume) => volume.startsWith('./')),
    );
    const missing = mounted.filter(
      (volume) => !files.some((file) => file.startsWith(`${volume.slice(2).replace(/:.*/, '')}/`)),
    );
    expect(mounted).toHaveLength(3);
    expect(missing).toEqual([]);
    expect(services.prometheus?.networks).toContain('product');
    // Grafana queries only Prometheus.
    expect(services.grafana?.networks).toEqual(['observability']);
  });

  test('Grafana uses Prometheus at its scrape interval and finds the dashboards', () => {
    const source = parse(read('deploy/observability/grafana/datasources/prometheus.yml'));
    const { global } = parse(read('deploy/observability/prometheus.yml'));
    expect(source.datasources).toEqual([
      expect.objectContaining({
        type: 'prometheus',
        url: 'http://prometheus:9090',
        jsonData: { timeInterval: global.scrape_interval },
      }),
    ]);
    const provisioning = parse(read('deploy/observability/grafana/dashboards/fitness.yml'));
    const { path } = provisioning.providers[0].options;
    expect(services.grafana?.volumes).toContain(`./deploy/observability/dashboards:${path}:ro`);
  });
});
