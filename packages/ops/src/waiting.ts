/** Items that wait for an operator: how many, since when, and whether they are late. */
import { DAY_MS, HOUR_MS, parseTimestamp } from '@fitness/shared/kernel/clock.ts';
import { message } from '@fitness/shared/kernel/error.ts';
import { formatNumber } from '@fitness/shared/kernel/i18n/translate.ts';
import { finishesWithin } from '@fitness/shared/kernel/timing.ts';
import { type Html, html } from '@fitness/shared/pages/html.ts';
import { time } from '@fitness/shared/pages/views.ts';
import {
  emptyList,
  type Operator,
  pathOf,
  type Section,
  tableOf,
  type Waiting,
  type WaitingBySection,
} from './section.ts';

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

const readOne = async (operator: Operator, section: Section): Promise<readonly Waiting[] | undefined> => {
  try {
    const reading = section.waiting?.(operator) ?? Promise.resolve([]);
    return (await finishesWithin(reading, TIMEOUT_MS)) ? await reading : undefined;
  } catch {
    return undefined;
  }
};

export const readWaiting = async (
  operator: Operator,
  sections: readonly Section[],
): Promise<WaitingBySection> => {
  const counted = sections.filter(({ waiting }) => waiting !== undefined);
  return new Map(
    await Promise.all(counted.map(async (section) => [section, await readOne(operator, section)] as const)),
  );
};

const numberOf = ({ locale }: Operator, count: number): string => formatNumber(locale, count);

/** The badge beside a section in the navigation. False if nothing is waiting. */
export const waitingBadge = (
  operator: Operator,
  waiting: WaitingBySection,
  section: Section,
): Html | false => {
  const { t } = operator;
  if (!waiting.has(section)) return false;
  const kinds = waiting.get(section);
  if (kinds === undefined)
    return html` <span class="badge waiting">?<span class="silent"> ${t(message('ops.waiting.unknown'))}</span></span>`;
  const count = kinds.reduce((sum, kind) => sum + kind.count, 0);
  if (count === 0) return false;
  const late = kinds.some((kind) => isLate(operator, kind));
  const text = t(message(late ? 'ops.waiting.late' : 'ops.waiting.open'));
  return html` <span class="badge ${late ? 'bad' : 'waiting'}">${numberOf(operator, count)}<span class="silent"> ${text}</span></span>`;
};

const limitOf = ({ t }: Operator, { lateAfterMs }: Waiting): string | null => {
  if (lateAfterMs === undefined) return null;
  return lateAfterMs === 0
    ? t(message('ops.late.at_once'))
    : t(message('ops.late.hours', { count: lateAfterMs / HOUR_MS }));
};

/** The card of the first page: each kind with its count, its oldest item and its time limit. */
export const waitingCard = (operator: Operator, waiting: WaitingBySection): Html => {
  const { t } = operator;
  const rows = [...waiting].flatMap(([section, kinds = []]) => kinds.map((kind) => ({ section, kind })));
  const unreadable = [...waiting]
    .filter(([, kinds]) => kinds === undefined)
    .map(([{ title }]) => t(message(title)));
  const open = rows.filter(({ kind }) => kind.count > 0);
  const table = tableOf(
    t,
    [
      {
        label: 'ops.waiting.kind',
        value: ({ section, kind }) =>
          html`<a href="${pathOf(operator, section.slug)}">${t(message(kind.label))}</a>`,
      },
      {
        label: 'ops.waiting.count',
        value: ({ kind }) =>
          html`<span class="badge ${isLate(operator, kind) ? 'bad' : 'waiting'}">${numberOf(operator, kind.count)}${isLate(operator, kind) && html` <span>${t(message('ops.waiting.late'))}</span>`}</span>`,
      },
      {
        label: 'ops.waiting.oldest',
        value: ({ kind: { oldest } }) => (oldest === undefined ? null : time(operator, oldest)),
      },
      { label: 'ops.waiting.late_after', value: ({ kind }) => limitOf(operator, kind) },
    ],
    open,
  );
  return html`<section class="card"><h2>${t(message('ops.waiting'))}</h2>
${unreadable.length > 0 && html`<p class="problem">${t(message('ops.waiting.not_read', { names: unreadable.join(', ') }))}</p>`}
${table ?? (unreadable.length === 0 && emptyList(t, 'ops.waiting.none'))}</section>`;
};
