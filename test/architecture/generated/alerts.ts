import { parse, stringify } from 'yaml';
import { read } from '../support.ts';

const RULES = 'deploy/observability/alerts.yml';

/** The PrometheusRule of Kubernetes, from the alert rules. */
export const generate = (): Record<string, string> => {
  const rule = {
    apiVersion: 'monitoring.coreos.com/v1',
    kind: 'PrometheusRule',
    metadata: { name: 'fitness' },
    spec: parse(read(RULES)) as object,
  };
  const note = `# Written by npm run generate from ${RULES}.\n`;
  return {
    'deploy/kubernetes/components/monitoring/prometheus-rule.yaml': note + stringify(rule, { lineWidth: 0 }),
  };
};
