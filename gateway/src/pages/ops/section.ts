/** A part of `/ops`. It is shown to, and answers, only who has its permissions; the services check each call again. */

import { encodeCursor, LAST_PAGE_NUMBER } from '@fitness/shared/http/pagination.ts';
import { API_PREFIX } from '@fitness/shared/http/server.ts';
import type { UserCaller } from '@fitness/shared/kernel/caller.ts';
import { type Message, message, unavailable } from '@fitness/shared/kernel/error.ts';
import type { MessageKey } from '@fitness/shared/kernel/i18n/catalogue.ts';
import { formatNumber, type Translate, type Translator } from '@fitness/shared/kernel/i18n/translate.ts';
import { latinDigits } from '@fitness/shared/kernel/i18n/typed-day.ts';
import type { OperationsStatus } from '@fitness/shared/kernel/operations.ts';
import type { Permission } from '@fitness/shared/kernel/permissions.ts';
import { type Html, html, isolate } from '@fitness/shared/pages/html.ts';
import type { Dispatcher } from 'undici';
import type { Dependencies } from '../../dependencies.ts';
import type { ApiAnswer, ApiCall } from '../../request/call-api.ts';
import { OPS_PATH } from '../../request/page-paths.ts';
import type { Service } from '../../request/routes.ts';
import type { Problem } from '../api.ts';
import type { Fields } from '../form-pages.ts';
import { type Button, formOf, type View } from '../views.ts';

/** Deposits or withdrawals that were made in one hour. */
export interface PaymentCount {
  /** ISO 8601, of the beginning. */
  hour: string;
  type: 'deposit' | 'withdrawal';
  is_done: boolean;
  count: number;
}

/** One request of an operator. */
export interface Operator extends View {
  t: Translator;
  caller: UserCaller;
  /** Without what is personal: it is in the address. */
  query: Fields;
  /** What was sent with the form that the API has refused. */
  sent?: Fields;
  /** The public API, as the operator. Throws 401. */
  api(call: ApiCall): Promise<ApiAnswer>;
  /** An internal route of a service, as the operator. Throws 503 when it does not answer. */
  internal(service: Service, call: ApiCall): Promise<ApiAnswer>;
  /** A file of the public API. Throws 401. */
  download(path: string): Promise<Dispatcher.ResponseData>;
  /** In the sections that the operator may use. Read once for a page. */
  waiting(): Promise<WaitingBySection>;
  /** What a service says of its outbox and its queues; undefined without an answer. Read once for a page. */
  status(service: Service): Promise<OperationsStatus | undefined>;
  /** Payments in each of the last 24 hours; undefined if the wallet does not answer. */
  paymentHours(): Promise<readonly PaymentCount[] | undefined>;
  dependencies: Pick<Dependencies, 'agents' | 'clock' | 'urls'>;
}

/**
 * `query`: the page is shown with it, without a notice. `done`: the page is shown again with a notice of it; `query` names what it was done to, and nothing personal. `refused`: an answer of the
 * API that is no success is shown as a problem. `shown`: another step, with its problem at its field.
 */
export type ActionResult =
  | { query: string }
  | { done: Done; query?: string }
  | { refused: ApiAnswer }
  | { shown: Html; problem?: Problem };

export type Action = (operator: Operator, fields: Fields) => Promise<ActionResult>;

/** What waits in a section for an operator. */
export interface Waiting {
  label: MessageKey;
  count: number;
  /** Timestamp of the API of the oldest case, where its list shows it. */
  oldest?: string | undefined;
  /** Undefined: it has no limit. */
  lateAfterMs?: number | undefined;
}

/** Undefined for a section whose services do not answer. */
export type WaitingBySection = ReadonlyMap<Section, readonly Waiting[] | undefined>;

export interface Section {
  /** Its last path segment; empty for the first one. */
  slug: string;
  title: MessageKey;
  /** The section whose link in the navigation leads to this one. Its address ends with an id, which is in `query`: `/ops/members/5`. */
  within?: string;
  /** The operator needs all of one of these. */
  permissions: readonly (readonly Permission[])[];
  show(operator: Operator): Promise<Html>;
  /** What waits in it for an operator. */
  waiting?(operator: Operator): Promise<readonly Waiting[]>;
  /** Changes with what the page shows. Undefined: the page does not report changes. */
  watch?(operator: Operator): Promise<string>;
  /** The page shows the new content by itself: it has no forms, in which somebody may be typing. */
  isReplaced?: true;
  /** What the API has refused is shown by the section, at its field. */
  showsProblems?: true;
  actions?: Readonly<Record<string, Action>>;
  /** Read again from what the address names: anyone may have made the address. */
  notice?(operator: Operator, done: Done): Promise<Message | undefined>;
}

/** Path of the page of the operator's own second factor, which is no section. */
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

/** The last path segments of its address. */
export const addressOf = ({ slug, within }: Section, { id }: Fields): string =>
  within === undefined ? slug : `${slug}/${id}`;

/** The body of a read; 503 for anything but a success. */
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

/** How many rows a list has, and one of them: the first, or the last one that a page number reaches. */
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
/** For pages with one row each. */
const LAST_SINGLE_PAGE = 10_000;

/**
 * The row of this id in a list without a filter by it, or the one that follows: the page after the next id begins with it. `list`: newest
 * first, by id.
 */
export const findInList = async <Row>(
  operator: Operator,
  list: string,
  id: string | undefined,
): Promise<Row[]> => {
  const cursor = encodeCursor([Number(idIn(id) ?? 0) + 1], { url: `${API_PREFIX}${list}` });
  return (await read(operator, `${list}?per_page=1&cursor=${cursor}`)).data as Row[];
};

/** Undefined for what is no payment. */
export const readPayment = async <Payment>(
  operator: Operator,
  id: string | undefined,
): Promise<Payment | undefined> => {
  const { status, body } = await operator.api({ method: 'GET', path: `/payments/${idIn(id) ?? 0}` });
  return status === 200 ? (body.payment as Payment) : undefined;
};

export const outcomeOf = (answer: ApiAnswer, done: Done, query?: string): ActionResult =>
  answer.status < 300 ? { done, ...(query === undefined ? {} : { query }) } : { refused: answer };

/** The answer of the API for what does not exist. */
export const gone = (
  { t }: Operator,
  text: Message = message('error.not_found'),
): { refused: ApiAnswer } => ({
  refused: { status: 404, headers: {}, body: { message: t(text) } },
});

interface List {
  /** The response of the API, with `meta`. */
  body: Record<string, unknown>;
  /** The rows of the page: a list, or {@link tableOf}. */
  items: readonly Html[] | Html | undefined;
  none: MessageKey;
  /** Names its pages for people who hear the page, where it has several lists. */
  label?: MessageKey;
  /** Leads to a page of it. */
  turn(to: number, label: Message): Html;
}

/** The rows of one page, and the ways to the others. A page that is empty by now leads back. */
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

/** Pages by links. `pages`: the page numbers of all lists of the page, by their parameters. */
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

/** 1 for what is no page, and the last one that the API takes for a larger number. */
export const pageIn = (query: Fields, name = 'page'): string =>
  /^[1-9]\d{0,6}$/.test(query[name] ?? '') ? String(Math.min(Number(query[name]), LAST_PAGE_NUMBER)) : '1';

/** An id in a form or in the address; undefined for what is none, which the API would answer with 404. */
export const idIn = (text: string | undefined): string | undefined =>
  /^[1-9]\d{0,14}$/.test(text ?? '') ? text : undefined;

/** {@link idIn} for what a person types, such as `#12` and `۱۲`. */
export const typedIdIn = (text: string | undefined): string | undefined =>
  idIn(
    latinDigits(text ?? '')
      .trim()
      .replace(/^#/, ''),
  );

const CURSOR = /^[A-Za-z0-9._~=-]{1,300}$/;

/** The position in a list without page numbers; undefined for what is none. */
export const cursorIn = ({ cursor = '' }: Fields): string | undefined =>
  CURSOR.test(cursor) ? cursor : undefined;

/** A number is a count, in the digits of the language. The number of a record is a text of `formatRecord`, and an id to copy a text. */
export type FactRow = readonly [label: MessageKey, value: Html | string | number | null | undefined];

const PERSIAN_LETTER = /(?=\p{L})\p{Script=Arabic}/u;

/** A card, an account, a phone: one that is broken into lines is misread. */
const SHORT_NUMBER = /^(?:[A-Z]{2})?[+*\d]{1,26}$/;

/**
 * Digits have no direction of their own: between asterisks or slashes a browser shows them backwards on a Persian page. A text without a
 * Persian letter reads from left to right.
 */
const directed = ({ locale }: Translator, value: FactRow[1]): FactRow[1] => {
  if (typeof value === 'number') return html`<bdi dir="ltr">${formatNumber(locale, value)}</bdi>`;
  if (typeof value !== 'string') return value;
  if (SHORT_NUMBER.test(value)) return html`<bdi class="whole" dir="ltr">${value}</bdi>`;
  return PERSIAN_LETTER.test(value) ? html`<bdi>${value}</bdi>` : html`<bdi dir="ltr">${value}</bdi>`;
};

/** Without the rows that have no value. */
export const factsOf = (t: Translator, rows: readonly FactRow[]): Html => {
  const shown = rows.filter(([, value]) => value !== null && value !== undefined && value !== '');
  return html`<dl class="facts">
${shown.map(([label, value]) => html`<dt>${t(message(label))}</dt><dd>${directed(t, value)}</dd>\n`)}</dl>`;
};

export interface Column<Row> {
  label: MessageKey;
  /** A dash is shown for null, undefined and an empty text; nothing on a narrow page. */
  value(row: Row): FactRow[1];
  /** Numbers stand under each other. */
  kind?: 'number';
}

/**
 * One line per row, whose first cell is its heading. On a narrow page a row is a block, and each cell has the label of its column before
 * it. The roles are written, because a browser drops those of a table that is not displayed as one. Undefined without rows.
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

/** A code that is copied into another program. A click on it selects the whole code, and a script shows the button. */
export const copyable = (t: Translate, code: string): Html =>
  html`<span class="row"><span class="${SHORT_NUMBER.test(code) ? 'code whole' : 'code'}" dir="ltr">${code}</span>
${copyButton(t, code)}</span>`;

export const copyButton = (t: Translate, text: string): Html =>
  html`<button type="button" hidden data-copy="${text}" data-copied="${t(message('ops.copied'))}">${t(message('ops.copy'))}</button>`;

export interface NamedUser {
  id?: number | undefined;
  username?: string | null;
  first_name?: string | null;
  last_name?: string | null;
}

export const usernameOf = ({ id, username }: NamedUser): string => username ?? `#${id ?? '?'}`;

/** Empty for an account without a name. */
export const fullNameOf = ({ first_name: first, last_name: last }: NamedUser): string =>
  [first, last].filter(Boolean).join(' ');

/** On one line, inside a text. */
export const userName = (user: unknown): string => {
  const named = (user ?? {}) as NamedUser;
  const name = fullNameOf(named);
  return `${isolate(usernameOf(named))}${name === '' ? '' : ` (${isolate(name)})`}`;
};

/** A form of the section with hidden fields and buttons. */
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

export const emptyList = (t: Translate, key: MessageKey): Html =>
  html`<p class="notice">${t(message(key))}</p>`;
