/** Sections of `/ops`. Showing or using one requires permissions, and the services check each call again. */

import { encodeCursor, LAST_PAGE_NUMBER } from '@fitness/shared/http/pagination.ts';
import { API_PREFIX } from '@fitness/shared/http/server.ts';
import type { UserCaller } from '@fitness/shared/kernel/caller.ts';
import type { Clock } from '@fitness/shared/kernel/clock.ts';
import { isAppError, type Message, message, unavailable } from '@fitness/shared/kernel/error.ts';
import type { MessageKey } from '@fitness/shared/kernel/i18n/catalogue.ts';
import { formatNumber, type Translate, type Translator } from '@fitness/shared/kernel/i18n/translate.ts';
import { latinDigits } from '@fitness/shared/kernel/i18n/typed-day.ts';
import type { OperationsStatus } from '@fitness/shared/kernel/operations.ts';
import type { Permission } from '@fitness/shared/kernel/permissions.ts';
import type { Fields } from '@fitness/shared/pages/form-pages.ts';
import { type Html, html, isolate } from '@fitness/shared/pages/html.ts';
import { type Button, formOf, type View } from '@fitness/shared/pages/views.ts';
import type { ApiAnswer, ApiCall, Download, Problem } from '@fitness/shared/pages/visitor.ts';
import { OPS_PATH } from './path.ts';

/** The number of deposits or withdrawals in one hour. */
export interface PaymentCount {
  /** Start of the hour, in ISO 8601. */
  hour: string;
  type: 'deposit' | 'withdrawal';
  is_done: boolean;
  count: number;
}

/** Readiness of a service, as its health check reports it. */
export interface ServiceHealth {
  status: 'ready' | 'not_ready' | 'unknown';
  dependencies: Readonly<Record<string, unknown>>;
}

/** What the pages need of the process that serves them. */
export interface OpsDependencies {
  clock: Clock;
  /** The names of the services. */
  services: readonly string[];
  readHealth(): Promise<Readonly<Record<string, ServiceHealth>>>;
}

/** One request of an operator. */
export interface Operator extends View {
  t: Translator;
  caller: UserCaller;
  /** The page's query parameters, which contain no personal data. */
  query: Fields;
  /** The fields of the form that the API has refused. */
  sent?: Fields;
  /** Calls the public API as the operator. Throws 401 for an ended session. */
  api(call: ApiCall): Promise<ApiAnswer>;
  /** Calls an internal route of a service as the operator. Throws 503 if the service does not answer. */
  internal(service: string, call: ApiCall): Promise<ApiAnswer>;
  /** Streams a file of the public API. Throws 401 for an ended session. */
  download(path: string): Promise<Download>;
  /** What is waiting in each section that the operator may use. Read once per page. */
  waiting(): Promise<WaitingBySection>;
  /** The outbox and queues of a service. Undefined if it does not answer. Read once per page. */
  status(service: string): Promise<OperationsStatus | undefined>;
  /** Payments in each of the last 24 hours. Undefined if the wallet does not answer. */
  paymentHours(): Promise<readonly PaymentCount[] | undefined>;
  dependencies: OpsDependencies;
}

/**
 * `query` alone redirects to the page with this query, without a notice. `done` redirects to the page with a notice. Its `query` names the
 * item by id, without personal data. `refused` shows an error response of the API as a problem. `shown` is the next step, with any problem
 * at its field.
 */
export type ActionResult =
  | { query: string }
  | { done: Done; query?: string }
  | { refused: ApiAnswer }
  | { shown: Html; problem?: Problem };

export type Action = (operator: Operator, fields: Fields) => Promise<ActionResult>;

/** The items of one kind that wait for an operator. */
export interface Waiting {
  label: MessageKey;
  count: number;
  /** API timestamp of the oldest item, if its list shows it. */
  oldest?: string | undefined;
  /** Undefined if there is no limit. */
  lateAfterMs?: number | undefined;
}

/** The value is undefined if the services of the section do not answer. */
export type WaitingBySection = ReadonlyMap<Section, readonly Waiting[] | undefined>;

export interface Section {
  /** The last path segment, which is empty for the first section. */
  slug: string;
  title: MessageKey;
  /**
   * The section whose navigation link leads to this one. This section's address then ends with an id, as in
   * `/ops/members/5`, and `query` contains the id.
   */
  within?: string;
  /** Alternative sets of permissions. The operator needs one complete set. */
  permissions: readonly (readonly Permission[])[];
  show(operator: Operator): Promise<Html>;
  /** What is waiting in the section for an operator. */
  waiting?(operator: Operator): Promise<readonly Waiting[]>;
  /** Returns a value that changes with the content. A page without this method does not report changes. */
  watch?(operator: Operator): Promise<string>;
  /** Whether the content is replaced live. Only for pages without forms, where nobody can be typing. */
  isReplaced?: true;
  /** Whether the section itself shows API errors, at their fields. */
  showsProblems?: true;
  actions?: Readonly<Record<string, Action>>;
  /** The notice to show. The item is read again to confirm it, because anyone can craft an address. */
  notice?(operator: Operator, done: Done): Promise<Message | undefined>;
}

/** Path segment of the page for the operator's second factor, which is not a section. */
export const SECOND_FACTOR = 'second-factor';

const DONE = [
  'paid',
  'rejected',
  'credited',
  'returned',
  'refunded',
  'granted',
  'replayed',
  'approved',
  'saved',
  'removed',
  'deleted',
  'ended',
] as const;
export type Done = (typeof DONE)[number];

export const isDone = (value: string | undefined): value is Done => DONE.some((done) => done === value);

export const pathOf = (operator: Pick<View, 'locale'>, slug: string, query = ''): string =>
  `${OPS_PATH}${slug === '' ? '' : `/${slug}`}?lang=${operator.locale}${query}`;

/** The path of a section below `/ops`. */
export const addressOf = ({ slug, within }: Section, { id }: Fields): string =>
  within === undefined ? slug : `${slug}/${id}`;

/** Reads a resource and returns the body. Throws 503 for any status but 200. */
export const read = async (operator: Operator, path: string): Promise<Record<string, unknown>> => {
  const answer = await operator.api({ method: 'GET', path });
  if (answer.status !== 200) throw unavailable(`${path.split('?')[0]} answered ${answer.status}`);
  return answer.body;
};

interface ListMeta {
  current_page?: number | null;
  last_page?: number | null;
  total?: number | null;
}

/** The number of rows in a list, and one of them: the first, or the last that a page number can reach. */
export const countOf = async <Row>(
  operator: Operator,
  list: string,
  { isLast = false }: { isLast?: boolean } = {},
): Promise<{ count: number; row: Row | undefined }> => {
  const pageOf = (page: number): Promise<Record<string, unknown>> =>
    read(operator, `${list}${list.includes('?') ? '&' : '?'}per_page=1&page=${page}`);
  const first = await pageOf(1);
  const count = ((first.meta ?? {}) as ListMeta).total ?? 0;
  const shown = isLast && count > 1 ? await pageOf(Math.min(count, LAST_SINGLE_PAGE)) : first;
  return { count, row: (shown.data as Row[])[0] };
};
/** The highest page number with one row per page. */
const LAST_SINGLE_PAGE = 10_000;

/**
 * Finds a row in a list that has no filter by id and is sorted by descending id. The cursor after the next higher id starts at this row.
 * Returns the following row if the id is missing.
 */
export const findInList = async <Row>(
  operator: Operator,
  list: string,
  id: string | undefined,
): Promise<Row[]> => {
  const cursor = encodeCursor([Number(idIn(id) ?? 0) + 1], { url: `${API_PREFIX}${list}` });
  return (await read(operator, `${list}?per_page=1&cursor=${cursor}`)).data as Row[];
};

/** Undefined if the payment does not exist. */
export const readPayment = async <Payment>(
  operator: Operator,
  id: string | undefined,
): Promise<Payment | undefined> => {
  const { status, body } = await operator.api({ method: 'GET', path: `/payments/${idIn(id) ?? 0}` });
  return status === 200 ? (body.payment as Payment) : undefined;
};

export const outcomeOf = (answer: ApiAnswer, done: Done, query?: string): ActionResult =>
  answer.status < 300 ? { done, ...(query === undefined ? {} : { query }) } : { refused: answer };

/** The 404 response of the API for a missing item. */
export const gone = (
  { t }: Operator,
  text: Message = message('error.not_found'),
): { refused: ApiAnswer } => ({
  refused: { status: 404, headers: {}, body: { message: t(text) } },
});

interface List {
  /** The API response, with `meta`. */
  body: Record<string, unknown>;
  /** The rows of the page, as list items or as a {@link tableOf}. */
  items: readonly Html[] | Html | undefined;
  none: MessageKey;
  /** Names the pagination for screen readers on a page with several lists. */
  label?: MessageKey;
  /** Renders the control that leads to another page of the list. */
  turn(to: number, label: Message): Html;
}

/** The rows of one page, with controls for the other pages. A page that has become empty leads back. */
export const listOf = ({ t }: Operator, { body, items, none, label = 'ops.pages', turn }: List): Html => {
  const { current_page: page, last_page: last } = (body.meta ?? {}) as ListMeta;
  const isPaged = page != null && last != null && (page > 1 || last > 1);
  const shown = Array.isArray(items) ? itemsOf(items) : items;
  if (shown === undefined && !isPaged) return emptyList(t, none);
  return html`${shown}
${
  isPaged &&
  html`<nav class="row" aria-label="${t(message(label))}">
${page > 1 && turn(Math.min(page - 1, last), message('ops.previous'))}
${page <= last && html`<span>${t(message('ops.page', { page, last }))}</span>`}
${page < Math.min(last, LAST_PAGE_NUMBER) && turn(page + 1, message('ops.next'))}
</nav>`
}`;
};

const itemsOf = (items: readonly Html[]): Html | undefined =>
  items.length === 0 ? undefined : html`<ul class="items" role="list">${items}</ul>`;

/** Paginates by links. `pages` maps the parameter of each list on the page to its page number. */
export const turnByLink =
  (
    operator: Operator,
    slug: string,
    name = 'page',
    pages: Readonly<Record<string, string>> = {},
  ): List['turn'] =>
  (to, label) => {
    const query = new URLSearchParams({ ...pages, [name]: String(to) });
    return html`<a href="${pathOf(operator, slug, `&${query}`)}">${operator.t(label)}</a>`;
  };

/** The page number in a query. Invalid values become 1, and large ones the highest page that the API accepts. */
export const pageIn = (query: Fields, name = 'page'): string =>
  /^[1-9]\d{0,6}$/.test(query[name] ?? '') ? String(Math.min(Number(query[name]), LAST_PAGE_NUMBER)) : '1';

/** An id from a form or an address. Undefined for an invalid id, for which the API would return 404. */
export const idIn = (text: string | undefined): string | undefined =>
  /^[1-9]\d{0,14}$/.test(text ?? '') ? text : undefined;

/** Like {@link idIn}, for typed ids such as `#12` and `۱۲`. */
export const typedIdIn = (text: string | undefined): string | undefined =>
  idIn(
    latinDigits(text ?? '')
      .trim()
      .replace(/^#/, ''),
  );

const CURSOR = /^[A-Za-z0-9._~=-]{1,300}$/;

/** The cursor in a list without page numbers. Undefined if it is missing or malformed. */
export const cursorIn = ({ cursor = '' }: Fields): string | undefined =>
  CURSOR.test(cursor) ? cursor : undefined;

/**
 * A label and its value. A number is a count, and is shown in the digits of the language. Pass ids as text, which keeps their Latin
 * digits.
 */
export type FactRow = readonly [label: MessageKey, value: Html | string | number | null | undefined];

const PERSIAN_LETTER = /(?=\p{L})\p{Script=Arabic}/u;

/** Card, account and phone numbers, which must not wrap because a wrapped number is misread. */
const SHORT_NUMBER = /^(?:[A-Z]{2})?[+*\d]{1,26}$/;

/**
 * Isolates a value with an explicit direction. Digits have none, so a Persian page would reverse them around
 * asterisks or slashes. Text without a Persian letter reads from left to right.
 */
const directed = ({ locale }: Translator, value: FactRow[1]): FactRow[1] => {
  if (typeof value === 'number') return html`<bdi dir="ltr">${formatNumber(locale, value)}</bdi>`;
  if (typeof value !== 'string') return value;
  if (SHORT_NUMBER.test(value)) return html`<bdi class="whole" dir="ltr">${value}</bdi>`;
  return PERSIAN_LETTER.test(value) ? html`<bdi>${value}</bdi>` : html`<bdi dir="ltr">${value}</bdi>`;
};

/** A description list. Rows without a value are omitted. */
export const factsOf = (t: Translator, rows: readonly FactRow[]): Html => {
  const shown = rows.filter(([, value]) => value !== null && value !== undefined && value !== '');
  return html`<dl class="facts">
${shown.map(([label, value]) => html`<dt>${t(message(label))}</dt><dd>${directed(t, value)}</dd>\n`)}</dl>`;
};

export interface Column<Row> {
  label: MessageKey;
  /** Null, undefined and empty text are shown as a dash. A narrow page hides them. */
  value(row: Row): FactRow[1];
  /** Numbers are aligned. */
  kind?: 'number';
}

/**
 * A table whose first cell in each row is the row heading. On a narrow page, rows are blocks and each cell shows its column label. The roles
 * are explicit because browsers drop them if a table is not displayed as one. Returns undefined if there are no rows.
 */
export const tableOf = <Row>(
  t: Translator,
  columns: readonly Column<Row>[],
  rows: readonly Row[],
): Html | undefined => {
  if (rows.length === 0) return undefined;
  const head = columns.map(
    ({ label, kind }) =>
      html`<th scope="col" role="columnheader"${kind !== undefined && html` class="${kind}"`}>${t(message(label))}</th>`,
  );
  const body = rows.map((row) => {
    const cells = columns.map(({ label, value, kind }, index) => {
      const cell = value(row);
      const isEmpty = cell === null || cell === undefined || cell === '';
      const attributes = html` data-label="${t(message(label))}"${kind !== undefined && html` class="${kind}"`}${isEmpty && html` data-empty`}`;
      const content = html`<span>${isEmpty ? '—' : directed(t, cell)}</span>`;
      return index === 0
        ? html`<th scope="row" role="rowheader"${attributes}>${content}</th>`
        : html`<td role="cell"${attributes}>${content}</td>`;
    });
    return html`<tr role="row">${cells}</tr>\n`;
  });
  return html`<table role="table">
<thead role="rowgroup"><tr role="row">${head}</tr></thead>
<tbody role="rowgroup">
${body}</tbody></table>`;
};

export const amountOf = (t: Translate, tooman: unknown): Html =>
  html`<strong class="whole">${t(message('ops.tooman', { amount: Number(tooman) }))}</strong>`;

/** The word for a stored value. A value of a newer release has no word yet, and is shown unchanged. */
export const wordOf = (t: Translate, words: Readonly<Record<string, MessageKey>>, value: string): string => {
  const key = Object.hasOwn(words, value) ? words[value] : undefined;
  return key === undefined ? value : t(message(key));
};

/** A code to copy into another program. A click selects the whole code, and the script reveals the copy button. */
export const copyable = (t: Translate, code: string): Html =>
  html`<span class="row"><span class="${SHORT_NUMBER.test(code) ? 'code whole' : 'code'}" dir="ltr">${code}</span>
${copyButton(t, code)}</span>`;

const GROUP_LENGTH = 4;

/**
 * Like {@link copyable}, for an account number, which is easier to compare in groups. The copied text has no
 * spaces.
 */
export const copyableInGroups = (t: Translate, number: string): Html => {
  const groups = number.match(new RegExp(`.{1,${GROUP_LENGTH}}`, 'g')) ?? [];
  return html`<span class="row"><span class="code groups" dir="ltr">${groups.map((group) => html`<span class="whole">${group}</span>`)}</span>
${copyButton(t, number)}</span>`;
};

export const copyButton = (t: Translate, text: string): Html =>
  html`<button type="button" hidden data-copy="${text}" data-copied="${t(message('ops.copied'))}">${t(message('ops.copy'))}</button>`;

export interface NamedUser {
  id?: number | undefined;
  username?: string | null;
  first_name?: string | null;
  last_name?: string | null;
}

/** The id of a record inside text, such as `#12` in English. People type and search for ids, so the digits are Latin in every language. */
export const idText = (t: Translate, id: number): string => t(message('language.id', { id }));

/** Empty for an account without a name. */
export const fullNameOf = ({ first_name: first, last_name: last }: NamedUser): string =>
  [first, last].filter(Boolean).join(' ');

/** The username and the full name on one line, for use inside text. */
export const userName = (user: unknown): string => {
  const named = user as NamedUser;
  const name = fullNameOf(named);
  return `${isolate(String(named.username))}${name === '' ? '' : ` (${isolate(name)})`}`;
};

export const actionForm = (
  operator: Operator,
  slug: string,
  {
    hidden,
    buttons,
    query,
  }: {
    hidden: Readonly<Record<string, string | number>>;
    buttons: readonly Button[];
    query?: string;
  },
): Html => {
  const inputs = Object.entries(hidden).map(
    ([name, value]) => html`<input type="hidden" name="${name}" value="${value}">\n`,
  );
  return formOf(operator, pathOf(operator, slug, query), html`${inputs}`, buttons);
};

/** One part of a page. If its service does not answer, only this part reports the failure. */
export const partOf = async (
  { t }: Operator,
  title: MessageKey,
  content: () => Promise<Html | false>,
): Promise<Html | false> => {
  const shown = await content().catch((error: unknown) => {
    if (!isAppError(error) || error.kind !== 'unavailable') throw error;
    return html`<p class="problem">${t(message('ops.part.unavailable'))}</p>`;
  });
  return shown !== false && html`<section class="card"><h2>${t(message(title))}</h2>${shown}</section>\n`;
};

export const emptyList = (t: Translate, key: MessageKey): Html =>
  html`<p class="notice">${t(message(key))}</p>`;
