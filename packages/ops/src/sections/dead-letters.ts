/** Events that a service could not handle. */
import { message, unavailable } from '@fitness/shared/kernel/error.ts';
import { DEAD_LETTERS_PER_PAGE, deadLettersSchema } from '@fitness/shared/kernel/operations.ts';
import { isolate } from '@fitness/shared/pages/html.ts';
import { timeOf } from '@fitness/shared/pages/time.ts';
import type { z } from 'zod';
import { internalCall } from '../call.ts';
import { type Content, card, cell, facts, form, notice, problem, view } from '../content.ts';
import { itemsOf, paged, pageIn, turnByLink } from '../list.ts';
import { type Names, readNames } from '../members.ts';
import { idIn, type Operator } from '../operator.ts';
import { gone, outcomeOf, type Section } from '../section.ts';
import { operationsStatus } from '../service-status.ts';
import { LATE_AFTER_MS } from '../waiting.ts';

const EVENT_ID = /^[\w.:-]{1,100}$/;

const letters = internalCall('GET /operations/dead-letters', ['operations.manage']);
const replay = internalCall('POST /operations/dead-letters/replay', ['operations.manage'], ['id']);

type Letter = z.output<typeof deadLettersSchema>['data'][number];

/** The number of dead letters. Queues are read only if they are not empty, because reading briefly removes their messages. */
const count = async (operator: Operator, service: string): Promise<number | undefined> =>
  (await operator.status(service))?.queues?.dead_letters;

const counts = (operator: Operator): Promise<(number | undefined)[]> =>
  Promise.all(operator.dependencies.services.map((service) => count(operator, service)));

/** The account that an event of identity is about. */
const accountOf = ({ type, subject }: Letter): number | null => {
  const id = type.startsWith('identity.account.') ? idIn(subject ?? '') : undefined;
  return id === undefined ? null : Number(id);
};

/** The time of the first failure. A message that is not an event may contain any text, which is shown unchanged. */
const failureOf = ({ first_failed_at: at }: Letter): Content => {
  const instant = new Date(at ?? Number.NaN);
  return Number.isNaN(instant.getTime()) ? at : ({ locale }) => timeOf(locale, instant);
};

const itemOf = (service: string, letter: Letter, names: Names): Content => {
  const account = accountOf(letter);
  return view`<strong><bdi dir="ltr">${letter.type}</bdi></strong>
${facts([
  ['ops.dead_letter.first_failed', failureOf(letter)],
  ['ops.dead_letter.subject', account === null ? letter.subject : cell.member(names.get(account), account)],
  ['ops.dead_letter.id', letter.id],
  ['ops.dead_letter.consumer', letter.consumer],
  ['ops.dead_letter.attempts', letter.attempts === 0 ? null : letter.attempts],
  ['ops.dead_letter.error', cell.code(letter.error)],
])}
${
  letter.id !== null &&
  form({ hidden: { service, event_id: letter.id }, buttons: [['replay', message('ops.replay')]] })
}`;
};

/** The page numbers in the address, by service. */
const pagesIn = ({ query, dependencies: { services } }: Operator): Record<string, string> =>
  Object.fromEntries(
    services.flatMap((service) => (query[service] === undefined ? [] : [[service, pageIn(query, service)]])),
  );

const serviceCard = async (operator: Operator, service: string): Promise<Content> => {
  const waiting = await count(operator, service);
  if (waiting === 0) return undefined;
  if (waiting === undefined)
    return card(view`<bdi dir="ltr">${service}</bdi>`, problem(message('ops.status.unknown')));
  const page = pageIn(operator.query, service);
  const { status, body } = await letters.send(operator, service, { query: { page } });
  if (status !== 200) throw unavailable(`dead letters of ${service}: ${status}`);
  const { data, total } = deadLettersSchema.parse(body);
  const names = await readNames(operator, data.map(accountOf));
  const last = Math.max(1, Math.ceil(total / DEAD_LETTERS_PER_PAGE));
  return card(
    message('ops.dead_letters.of', { service: isolate(service), count: total }),
    paged({
      meta: { current_page: Number(page), last_page: last },
      rows: itemsOf(data.map((letter) => itemOf(service, letter, names))),
      none: 'ops.dead_letters.none',
      turn: turnByLink(operator, service, pagesIn(operator)),
    }),
  );
};

const serviceIn = ({ dependencies: { services } }: Operator, text: string | undefined): string | undefined =>
  services.find((name) => name === text);

export const deadLetters: Section = {
  slug: 'dead-letters',
  title: 'ops.dead_letters',
  needs: [[operationsStatus, letters, replay]],
  show: async (operator) => {
    const { services } = operator.dependencies;
    const cards = await Promise.all(services.map((service) => serviceCard(operator, service)));
    return cards.some((one) => one !== undefined) ? cards : notice(message('ops.dead_letters.none'));
  },
  watch: async (operator) => (await counts(operator)).join(),
  waiting: async (operator) => {
    const all = await counts(operator);
    if (all.includes(undefined)) throw unavailable('the dead letters of a service are not known');
    const sum = all.reduce<number>((total, one = 0) => total + one, 0);
    return [{ label: 'ops.dead_letters', count: sum, lateAfterMs: LATE_AFTER_MS.dead_letter }];
  },
  actions: {
    replay: async (operator, { service, event_id: id = '' }) => {
      const target = serviceIn(operator, service);
      if (target === undefined) return gone(operator);
      const answer = await replay.send(operator, target, { body: { id } });
      return outcomeOf(answer, 'replayed', { of: target, event: id });
    },
  },
  notice: async (operator, done) => {
    const { of, event = '' } = operator.query;
    const service = serviceIn(operator, of);
    if (done !== 'replayed' || service === undefined || !EVENT_ID.test(event)) return undefined;
    return message('ops.done.replayed', { event, service });
  },
};
