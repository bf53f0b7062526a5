/** Items that wait for operators, and the services with their dependencies, outboxes and queues. */
import { message } from '@fitness/shared/kernel/error.ts';
import { formatNumber } from '@fitness/shared/kernel/i18n/translate.ts';
import type { OperationsStatus } from '@fitness/shared/kernel/operations.ts';
import { type Content, card, cell, htmlOf, problem, table, view } from '../content.ts';
import type { Operator, ServiceHealth } from '../operator.ts';
import { paymentCharts } from '../payment-hours.ts';
import type { Section } from '../section.ts';
import { operationsStatus } from '../service-status.ts';
import { waitingCard } from '../waiting.ts';

interface Row {
  service: string;
  health: ServiceHealth | undefined;
  /** Undefined if the service does not answer. */
  status: OperationsStatus | undefined;
}

const stateOf = (isGood: boolean, name?: string): Content =>
  cell.badge(
    isGood ? 'good' : 'bad',
    view`${name !== undefined && view`<bdi dir="ltr">${name}</bdi>: `}${message(isGood ? 'ops.up' : 'ops.down')}`,
  );

const dependenciesOf = ({ health }: Row): Content => {
  const states = Object.entries((health?.dependencies ?? {}) as Record<string, { state?: unknown }>);
  return view`<span class="row">${states.map(([name, { state }]) => stateOf(state === 'up', name))}</span>`;
};

const outboxOf = ({ status }: Row): Content => {
  if (status === undefined) return cell.badge('bad', message('ops.status.unknown'));
  const { waiting, lag_s: seconds } = status.outbox;
  return ({ locale }) =>
    view`${formatNumber(locale, waiting)}${seconds > 0 && view` ${message('ops.outbox.lag', { seconds })}`}`;
};

const servicesCard = (rows: readonly Row[]): Content => {
  const isBrokerLost = rows.some(({ status }) => status?.queues === null);
  const services = table<Row>(
    [
      ['ops.service', ({ service }) => view`<bdi dir="ltr">${service}</bdi>`],
      ['ops.service.state', ({ health }) => stateOf(health?.status === 'ready')],
      ['ops.service.dependencies', dependenciesOf],
      ['ops.outbox', outboxOf, 'number'],
      ['ops.queue', ({ status }) => status?.queues?.waiting, 'number'],
      ['ops.retrying', ({ status }) => status?.queues?.retrying, 'number'],
      ['ops.dead_letters', ({ status }) => status?.queues?.dead_letters, 'number'],
    ],
    rows,
  );
  return card(
    message('ops.services'),
    view`\n${isBrokerLost && problem(message('ops.queues.unknown'))}\n${services}`,
  );
};

const show = async (operator: Operator): Promise<Content> => {
  const { services, readHealth } = operator.dependencies;
  const [health, waiting, charts, ...statuses] = await Promise.all([
    readHealth(),
    operator.waiting(),
    paymentCharts(operator),
    ...services.map(async (service) => ({ service, status: await operator.status(service) })),
  ]);
  const rows = statuses.map((one) => ({ ...one, health: health[one.service] }));
  return [waitingCard(operator, waiting), charts, servicesCard(rows)];
};

export const overview: Section = {
  slug: '',
  title: 'ops.overview',
  needs: [[operationsStatus]],
  show,
  watch: async (operator) => htmlOf(operator, await show(operator)).toString(),
  isReplaced: true,
};
