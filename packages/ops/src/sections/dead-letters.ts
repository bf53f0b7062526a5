/** Events that a service could not handle. */
import { message, unavailable } from '@fitness/shared/kernel/error.ts';
import { DEAD_LETTERS_PER_PAGE, deadLettersSchema } from '@fitness/shared/kernel/operations.ts';
import { type Html, html, isolate } from '@fitness/shared/pages/html.ts';
import { timeOf } from '@fitness/shared/pages/time.ts';
import type { z } from 'zod';
import { memberLink, type Names, readNames } from '../members.ts';
import {
  actionForm,
  emptyList,
  factsOf,
  gone,
  idIn,
  listOf,
  type Operator,
  outcomeOf,
  pageIn,
  type Section,
  turnByLink,
} from '../section.ts';
import { LATE_AFTER_MS } from '../waiting.ts';

const SLUG = 'dead-letters';
const EVENT_ID = /^[\w.:-]{1,100}$/;

type Letter = z.output<typeof deadLettersSchema>['data'][number];

/** The number of dead letters. Queues are read only if they are not empty, because reading briefly removes their messages. */
const count = async (operator: Operator, service: string): Promise<number | undefined> =>
  (await operator.status(service))?.queues?.dead_letters;

/** The account that an event of identity is about. */
const accountOf = ({ type, subject }: Letter): number | null => {
  const id = type.startsWith('identity.account.') ? idIn(subject ?? '') : undefined;
  return id === undefined ? null : Number(id);
};

const subjectOf = (operator: Operator, letter: Letter, names: Names): Html | string | null => {
  const account = accountOf(letter);
  return account === null ? letter.subject : memberLink(operator, names.get(account), account);
};

/** The time of the first failure. A message that is not an event may contain any text, which is shown unchanged. */
const failureOf = ({ locale }: Operator, { first_failed_at: at }: Letter): Html | string | null => {
  const instant = new Date(at ?? Number.NaN);
  return Number.isNaN(instant.getTime()) ? at : timeOf(locale, instant);
};

const itemOf = (operator: Operator, service: string, letter: Letter, names: Names): Html => {
  const { t } = operator;
  return html`<li><strong><bdi dir="ltr">${letter.type}</bdi></strong>
${factsOf(t, [
  ['ops.dead_letter.first_failed', failureOf(operator, letter)],
  ['ops.dead_letter.subject', subjectOf(operator, letter, names)],
  ['ops.dead_letter.id', letter.id],
  ['ops.dead_letter.consumer', letter.consumer],
  ['ops.dead_letter.attempts', letter.attempts === 0 ? null : letter.attempts],
  ['ops.dead_letter.error', html`<span class="code" dir="ltr">${letter.error}</span>`],
])}
${
  letter.id !== null &&
  actionForm(operator, SLUG, {
    hidden: { service, event_id: letter.id },
    buttons: [['replay', message('ops.replay')]],
  })
}</li>\n`;
};

/** The page numbers in the address, by service. */
const pagesIn = ({ query, dependencies: { services } }: Operator): Record<string, string> =>
  Object.fromEntries(
    services.flatMap((service) => (query[service] === undefined ? [] : [[service, pageIn(query, service)]])),
  );

const serviceCard = async (operator: Operator, service: string): Promise<Html | undefined> => {
  const { t } = operator;
  const name = html`<bdi dir="ltr">${service}</bdi>`;
  const waiting = await count(operator, service);
  if (waiting === 0) return undefined;
  if (waiting === undefined)
    return html`<section class="card"><h2>${name}</h2><p class="problem">${t(message('ops.status.unknown'))}</p></section>`;
  const page = pageIn(operator.query, service);
  const path = `/operations/dead-letters?page=${page}`;
  const answer = await operator.internal(service, { method: 'GET', path });
  if (answer.status !== 200) throw unavailable(`dead letters of ${service}: ${answer.status}`);
  const { data, total } = deadLettersSchema.parse(answer.body);
  const names = await readNames(operator, data.map(accountOf));
  const items = data.map((letter) => itemOf(operator, service, letter, names));
  const meta = {
    current_page: Number(page),
    last_page: Math.max(1, Math.ceil(total / DEAD_LETTERS_PER_PAGE)),
  };
  const turn = turnByLink(operator, SLUG, service, pagesIn(operator));
  return html`<section class="card"><h2>${t(message('ops.dead_letters.of', { service: isolate(service), count: total }))}</h2>
${listOf(operator, { body: { meta }, items, none: 'ops.dead_letters.none', turn })}</section>`;
};

export const deadLetters: Section = {
  slug: SLUG,
  title: 'ops.dead_letters',
  permissions: [['operations.manage']],
  show: async (operator) => {
    const shown = await Promise.all(
      operator.dependencies.services.map((service) => serviceCard(operator, service)),
    );
    const some = shown.filter((part) => part !== undefined);
    return some.length === 0 ? emptyList(operator.t, 'ops.dead_letters.none') : html`${some}`;
  },
  watch: async (operator) =>
    (await Promise.all(operator.dependencies.services.map((service) => count(operator, service)))).join(),
  waiting: async (operator) => {
    const counts = await Promise.all(
      operator.dependencies.services.map((service) => count(operator, service)),
    );
    if (counts.includes(undefined)) throw unavailable('the dead letters of a service are not known');
    const sum = counts.reduce<number>((total, one = 0) => total + one, 0);
    return [{ label: 'ops.dead_letters', count: sum, lateAfterMs: LATE_AFTER_MS.dead_letter }];
  },
  actions: {
    replay: async (operator, { service, event_id: id = '' }) => {
      const target = operator.dependencies.services.find((name) => name === service);
      if (target === undefined) return gone(operator);
      const call = { method: 'POST', path: '/operations/dead-letters/replay', body: { id } } as const;
      const event = new URLSearchParams({ of: target, event: id });
      return outcomeOf(await operator.internal(target, call), 'replayed', `&${event}`);
    },
  },
  notice: async ({ query: { of, event = '' }, dependencies: { services } }, done) => {
    const service = services.find((name) => name === of);
    if (done !== 'replayed' || service === undefined || !EVENT_ID.test(event)) return undefined;
    return message('ops.done.replayed', { event, service });
  },
};
