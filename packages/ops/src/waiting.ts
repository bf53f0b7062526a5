/** Items that wait for an operator: how many, since when, and whether they are late. */
import { DAY_MS, HOUR_MS, parseTimestamp } from '@fitness/shared/kernel/clock.ts';
import { type Message, message } from '@fitness/shared/kernel/error.ts';
import { formatNumber } from '@fitness/shared/kernel/i18n/translate.ts';
import { finishesWithin } from '@fitness/shared/kernel/timing.ts';
import { type Content, card, cell, link, notice, problem, table, view } from './content.ts';
import type { Operator, Waiting, WaitingInSection } from './operator.ts';
import { type Section, waitingOf } from './section.ts';

/** How long an item may wait. A test compares these limits with the alerts in `deploy/observability/alerts.yml`. */
export const LATE_AFTER_MS = {
  withdrawal: 2 * DAY_MS,
  refund: DAY_MS,
  dispute: 0,
  dead_letter: 0,
} as const;

/** A page does not wait longer than this for a slow service. It is shown without that count. */
const TIMEOUT_MS = 2_000;

export const isPast = ({ dependencies }: Operator, timestamp: string, afterMs: number): boolean =>
  dependencies.clock.now().getTime() - parseTimestamp(timestamp).getTime() > afterMs;

const isLate = (operator: Operator, { count, oldest, lateAfterMs }: Waiting): boolean =>
  count > 0 &&
  lateAfterMs !== undefined &&
  (lateAfterMs === 0 || (oldest !== undefined && isPast(operator, oldest, lateAfterMs)));

export const readWaiting = (
  operator: Operator,
  sections: readonly Section[],
): Promise<readonly WaitingInSection[]> => {
  const counted = sections.flatMap((section) => {
    const read = waitingOf(section);
    return read === undefined ? [] : [{ section, read }];
  });
  return Promise.all(
    counted.map(async ({ section: { slug, title }, read }) => {
      try {
        const reading = read(operator);
        return {
          slug,
          title,
          kinds: (await finishesWithin(reading, TIMEOUT_MS)) ? await reading : undefined,
        };
      } catch {
        return { slug, title, kinds: undefined };
      }
    }),
  );
};

/** The badge beside a section in the navigation. Undefined if nothing is waiting. */
export const waitingBadge = (operator: Operator, { kinds }: WaitingInSection): Content => {
  const badge = (kind: 'bad' | 'waiting', count: string, text: Message): Content =>
    view` ${cell.badge(kind, view`${count}<span class="silent"> ${text}</span>`)}`;
  if (kinds === undefined) return badge('waiting', '?', message('ops.waiting.unknown'));
  const count = kinds.reduce((sum, kind) => sum + kind.count, 0);
  if (count === 0) return undefined;
  const number = formatNumber(operator.locale, count);
  return kinds.some((kind) => isLate(operator, kind))
    ? badge('bad', number, message('ops.waiting.late'))
    : badge('waiting', number, message('ops.waiting.open'));
};

const limitOf = ({ lateAfterMs }: Waiting): Message | null => {
  if (lateAfterMs === undefined) return null;
  return lateAfterMs === 0
    ? message('ops.late.at_once')
    : message('ops.late.hours', { count: lateAfterMs / HOUR_MS });
};

/** The card of the first page: each kind with its count, its oldest item and its time limit. */
export const waitingCard = (operator: Operator, waiting: readonly WaitingInSection[]): Content => {
  const rows = waiting.flatMap(({ slug, kinds = [] }) => kinds.map((kind) => ({ slug, kind })));
  const unreadable = waiting
    .filter(({ kinds }) => kinds === undefined)
    .map(({ title }) => operator.t(message(title)));
  const countOf = (kind: Waiting): Content => {
    const count = formatNumber(operator.locale, kind.count);
    return isLate(operator, kind)
      ? cell.badge('bad', view`${count} <span>${message('ops.waiting.late')}</span>`)
      : cell.badge('waiting', count);
  };
  const shown = table(
    [
      ['ops.waiting.kind', ({ slug, kind }) => link(message(kind.label), slug)],
      ['ops.waiting.count', ({ kind }) => countOf(kind)],
      ['ops.waiting.oldest', ({ kind: { oldest } }) => cell.time(oldest)],
      ['ops.waiting.late_after', ({ kind }) => limitOf(kind)],
    ],
    rows.filter(({ kind }) => kind.count > 0),
  );
  const isAllRead = unreadable.length === 0;
  return card(
    message('ops.waiting'),
    view`
${!isAllRead && problem(message('ops.waiting.not_read', { names: unreadable.join(', ') }))}
${shown ?? (isAllRead && notice(message('ops.waiting.none')))}`,
  );
};
