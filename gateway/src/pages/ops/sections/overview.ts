/** What waits for operators, and the services with what they depend on, their outboxes and their queues. */
import { message } from '@fitness/shared/kernel/error.ts';
import type { Translate } from '@fitness/shared/kernel/i18n/translate.ts';
import { type OperationsStatus, operationsStatusSchema } from '@fitness/shared/kernel/operations.ts';
import { type Html, html } from '@fitness/shared/pages/html.ts';
import { askServices, type ServiceHealth } from '../../../health/services-health.ts';
import { SERVICES, type Service } from '../../../request/routes.ts';
import { paymentHours } from '../payment-hours.ts';
import { factsOf, type Operator, type Section } from '../section.ts';
import { waitingCard } from '../waiting.ts';

/** Undefined without an answer. */
export const readStatus = async (
  operator: Operator,
  service: Service,
): Promise<OperationsStatus | undefined> => {
  try {
    const { status, body } = await operator.internal(service, { method: 'GET', path: '/operations' });
    return status === 200 ? operationsStatusSchema.parse(body) : undefined;
  } catch {
    return undefined;
  }
};

const badge = (t: Translate, isGood: boolean, name: string): Html =>
  html`<span class="badge ${isGood ? 'good' : 'bad'}">${name}: ${t(message(isGood ? 'ops.up' : 'ops.down'))}</span>`;

const dependenciesOf = (t: Translate, { dependencies }: ServiceHealth): Html => {
  const states = Object.entries(dependencies as Record<string, { state?: unknown }>);
  return html`<p class="row">${states.map(([name, { state }]) => badge(t, state === 'up', name))}</p>`;
};

const waiting = (t: Translate, status: OperationsStatus | undefined): Html => {
  if (status === undefined) return html`<p class="problem">${t(message('ops.status.unknown'))}</p>`;
  const { outbox, queues } = status;
  const lag = outbox.lag_s === 0 ? '' : t(message('ops.outbox.lag', { seconds: outbox.lag_s }));
  return html`${factsOf(t, [
    ['ops.outbox', `${outbox.waiting} ${lag}`],
    ['ops.queue', queues?.waiting],
    ['ops.retrying', queues?.retrying],
    ['ops.dead_letters', queues?.dead_letters],
  ])}
${queues === null && html`<p class="problem">${t(message('ops.queues.unknown'))}</p>`}`;
};

const show = async (operator: Operator): Promise<Html> => {
  const { t, dependencies } = operator;
  const [health, waitingCases, hours, ...statuses] = await Promise.all([
    askServices(dependencies.agents.internal, dependencies.urls),
    operator.waiting(),
    paymentHours(operator),
    ...SERVICES.map((service) => readStatus(operator, service)),
  ]);
  const cards = SERVICES.map(
    (service, index) => html`<section class="card">
<h2>${service}</h2>
<p>${badge(t, health[service].status === 'ready', t(message('ops.service')))}</p>
${dependenciesOf(t, health[service])}
${waiting(t, statuses[index])}
</section>`,
  );
  return html`${waitingCard(operator, waitingCases)}
${hours}
<div class="grid">${cards}</div>`;
};

export const overview: Section = {
  slug: '',
  title: 'ops.overview',
  permissions: [['operations.manage']],
  show,
  watch: async (operator) => (await show(operator)).toString(),
  isReplaced: true,
};
