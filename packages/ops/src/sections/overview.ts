/** Items that wait for operators, and the services with their dependencies, outboxes and queues. */
import { message } from '@fitness/shared/kernel/error.ts';
import { formatNumber } from '@fitness/shared/kernel/i18n/translate.ts';
import type { OperationsStatus } from '@fitness/shared/kernel/operations.ts';
import { type Html, html } from '@fitness/shared/pages/html.ts';
import { paymentHours } from '../payment-hours.ts';
import { type Column, type Operator, type Section, type ServiceHealth, tableOf } from '../section.ts';
import { waitingCard } from '../waiting.ts';

interface Row {
  service: string;
  health: ServiceHealth | undefined;
  /** Undefined if the service does not answer. */
  status: OperationsStatus | undefined;
}

const badge = ({ t }: Operator, isGood: boolean, name?: string): Html =>
  html`<span class="badge ${isGood ? 'good' : 'bad'}">${name !== undefined && html`<bdi dir="ltr">${name}</bdi>: `}${t(message(isGood ? 'ops.up' : 'ops.down'))}</span>`;

const dependenciesOf = (operator: Operator, { health }: Row): Html => {
  const states = Object.entries((health?.dependencies ?? {}) as Record<string, { state?: unknown }>);
  return html`<span class="row">${states.map(([name, { state }]) => badge(operator, state === 'up', name))}</span>`;
};

const outboxOf = ({ t, locale }: Operator, { status }: Row): Html => {
  if (status === undefined) return html`<span class="badge bad">${t(message('ops.status.unknown'))}</span>`;
  const { waiting, lag_s: seconds } = status.outbox;
  return html`${formatNumber(locale, waiting)}${seconds > 0 && html` ${t(message('ops.outbox.lag', { seconds }))}`}`;
};

const columnsOf = (operator: Operator): readonly Column<Row>[] => [
  { label: 'ops.service', value: ({ service }) => html`<bdi dir="ltr">${service}</bdi>` },
  { label: 'ops.service.state', value: ({ health }) => badge(operator, health?.status === 'ready') },
  { label: 'ops.service.dependencies', value: (row) => dependenciesOf(operator, row) },
  { label: 'ops.outbox', value: (row) => outboxOf(operator, row), kind: 'number' },
  { label: 'ops.queue', value: ({ status }) => status?.queues?.waiting, kind: 'number' },
  { label: 'ops.retrying', value: ({ status }) => status?.queues?.retrying, kind: 'number' },
  { label: 'ops.dead_letters', value: ({ status }) => status?.queues?.dead_letters, kind: 'number' },
];

const servicesCard = (operator: Operator, rows: readonly Row[]): Html => {
  const { t } = operator;
  const isBrokerLost = rows.some(({ status }) => status?.queues === null);
  return html`<section class="card"><h2>${t(message('ops.services'))}</h2>
${isBrokerLost && html`<p class="problem">${t(message('ops.queues.unknown'))}</p>`}
${tableOf(t, columnsOf(operator), rows)}</section>`;
};

const show = async (operator: Operator): Promise<Html> => {
  const { services, readHealth } = operator.dependencies;
  const [health, waitingCases, hours, ...statuses] = await Promise.all([
    readHealth(),
    operator.waiting(),
    paymentHours(operator),
    ...services.map((service) => operator.status(service)),
  ]);
  const rows = services.map((service, index) => ({
    service,
    health: health[service],
    status: statuses[index],
  }));
  return html`${waitingCard(operator, waitingCases)}
${hours}
${servicesCard(operator, rows)}`;
};

export const overview: Section = {
  slug: '',
  title: 'ops.overview',
  permissions: [['operations.manage']],
  show,
  watch: async (operator) => (await show(operator)).toString(),
  isReplaced: true,
};
