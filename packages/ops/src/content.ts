/**
 * What a page shows. A section composes it of a few parts, and passes texts and values as they are: a message is written in the language of
 * the page, and a function gets the operator.
 */
import { can } from '@fitness/shared/kernel/caller.ts';
import { parseTimestamp } from '@fitness/shared/kernel/clock.ts';
import { isAppError, type Message, message } from '@fitness/shared/kernel/error.ts';
import { isMessageKey, type MessageKey } from '@fitness/shared/kernel/i18n/catalogue.ts';
import { formatNumber, type Translate } from '@fitness/shared/kernel/i18n/translate.ts';
import { type Html, type HtmlValue, html, isolate } from '@fitness/shared/pages/html.ts';
import { timeOf } from '@fitness/shared/pages/time.ts';
import { type Button, formOf } from '@fitness/shared/pages/views.ts';
import { type Operator, type Parameters, pathOf } from './operator.ts';

type Shown = (operator: Operator) => Html;
export type Content =
  | Html
  | Message
  | string
  | number
  | false
  | null
  | undefined
  | readonly Content[]
  | ((operator: Operator) => Content);
/** A text that may contain others. */
export type Text = Message | ((operator: Operator) => Message);

/** A number, a text or HTML, without functions and messages. */
const plain = (operator: Operator, content: Content): HtmlValue => {
  if (typeof content === 'function') return plain(operator, content(operator));
  if (Array.isArray(content)) return content.map((part: Content) => plain(operator, part));
  const isMessage = typeof content === 'object' && content !== null && 'key' in content;
  return isMessage ? operator.t(content as Message) : (content as HtmlValue);
};

/** HTML as in {@link html}, with any content in it. */
export const view =
  (strings: TemplateStringsArray, ...values: readonly Content[]): Shown =>
  (operator) =>
    html(strings, ...values.map((value) => plain(operator, value)));

export const htmlOf = (operator: Operator, content: Content): Html => html`${plain(operator, content)}`;

export const textOf = (operator: Operator, text: Text): Message =>
  typeof text === 'function' ? text(operator) : text;

const PERSIAN_LETTER = /(?=\p{L})\p{Script=Arabic}/u;
/** Card, account and phone numbers, which must not wrap because a wrapped number is misread. */
const SHORT_NUMBER = /^(?:[A-Z]{2})?[+*\d]{1,26}$/;

/**
 * Isolates a value with an explicit direction. Digits have none, so a Persian page would reverse them around
 * asterisks or slashes. Text without a Persian letter reads from left to right.
 */
const directed = ({ locale }: Operator, value: HtmlValue): HtmlValue => {
  if (typeof value === 'number') return html`<bdi dir="ltr">${formatNumber(locale, value)}</bdi>`;
  if (typeof value !== 'string') return value;
  if (SHORT_NUMBER.test(value)) return html`<bdi class="whole" dir="ltr">${value}</bdi>`;
  return PERSIAN_LETTER.test(value) ? html`<bdi>${value}</bdi>` : html`<bdi dir="ltr">${value}</bdi>`;
};

const isEmpty = (value: HtmlValue): boolean =>
  value === null || value === undefined || value === false || value === '';

/** A label and its value. A number is a count, in the digits of the language. Pass ids as text, which keeps its Latin digits. */
export type Fact = readonly [label: MessageKey, value: Content];

/** A description list. Facts without a value are omitted. */
export const facts =
  (rows: readonly Fact[]): Shown =>
  (operator) => {
    const shown = rows
      .map(([label, value]) => [label, plain(operator, value)] as const)
      .filter(([, value]) => !isEmpty(value));
    return html`<dl class="facts">
${shown.map(([label, value]) => html`<dt>${operator.t(message(label))}</dt><dd>${directed(operator, value)}</dd>\n`)}</dl>`;
  };

/** A value without content is shown as a dash, and hidden on a narrow page. Numbers are aligned. */
export type Column<Row> = readonly [label: MessageKey, value: (row: Row) => Content, kind?: 'number'];

/**
 * A table whose first cell in each row is the row heading. On a narrow page, rows are blocks and each cell shows its column label. The roles
 * are explicit because browsers drop them if a table is not displayed as one. Undefined if there are no rows.
 */
export const table = <Row>(columns: readonly Column<Row>[], rows: readonly Row[]): Shown | undefined => {
  if (rows.length === 0) return undefined;
  return (operator) => {
    const labels = columns.map(([label]) => operator.t(message(label)));
    const classOf = (kind: 'number' | undefined): Html | false =>
      kind !== undefined && html` class="${kind}"`;
    const head = columns.map(
      ([, , kind], index) => html`<th scope="col" role="columnheader"${classOf(kind)}>${labels[index]}</th>`,
    );
    const cellOf = (row: Row, [, valueIn, kind]: Column<Row>, index: number): Html => {
      const value = plain(operator, valueIn(row));
      const attributes = html` data-label="${labels[index]}"${classOf(kind)}${isEmpty(value) && html` data-empty`}`;
      const content = html`<span>${isEmpty(value) ? '—' : directed(operator, value)}</span>`;
      return index === 0
        ? html`<th scope="row" role="rowheader"${attributes}>${content}</th>`
        : html`<td role="cell"${attributes}>${content}</td>`;
    };
    const body = rows.map(
      (row) => html`<tr role="row">${columns.map((column, index) => cellOf(row, column, index))}</tr>\n`,
    );
    return html`<table role="table">
<thead role="rowgroup"><tr role="row">${head}</tr></thead>
<tbody role="rowgroup">
${body}</tbody></table>`;
  };
};

interface Form {
  /** Default: the current page. */
  slug?: string;
  query?: Parameters | undefined;
  hidden?: Readonly<Record<string, string | number | undefined>>;
  content?: Content;
  buttons: readonly (readonly [value: string, label: Text, rank?: Button[2] | undefined])[];
  /** A link that stands beside the buttons. */
  cancel?: Content;
}

export const form =
  ({ slug, query, hidden = {}, content, buttons, cancel }: Form): Shown =>
  (operator) => {
    const inputs = Object.entries(hidden).map(
      ([name, value]) => html`<input type="hidden" name="${name}" value="${value ?? ''}">\n`,
    );
    return formOf(
      operator,
      pathOf(operator, slug ?? operator.slug, query),
      html`${inputs}${plain(operator, content)}`,
      buttons.map(([value, label, rank]) => [value, textOf(operator, label), rank] as Button),
      cancel === undefined ? undefined : htmlOf(operator, cancel),
    );
  };

export const link =
  (label: Content, slug: string, query?: Parameters): Shown =>
  (operator) =>
    html`<a href="${pathOf(operator, slug, query)}">${plain(operator, label)}</a>`;

export const card = (title: Content, content: Content): Shown =>
  view`<section class="card">${title !== undefined && view`<h2>${title}</h2>`}${content}</section>\n`;

/** One part of a page. If its service does not answer, only this part reports the failure. */
export const part = async (title: MessageKey, read: () => Promise<Content>): Promise<Content> => {
  const content = await read().catch((error: unknown) => {
    if (!isAppError(error) || error.kind !== 'unavailable') throw error;
    return problem(message('ops.part.unavailable'));
  });
  return card(message(title), content);
};

export const notice = (content: Content, kind?: 'bad' | 'waiting'): Shown =>
  view`<p class="${kind === undefined ? 'notice' : `notice ${kind}`}">${content}</p>`;

export const problem = (content: Content): Shown => view`<p class="problem">${content}</p>`;

export interface NamedUser {
  id?: number | undefined;
  username?: string | null;
  first_name?: string | null;
  last_name?: string | null;
}

/** The word for a stored value, which is the text `<kind>.<value>`. Undefined for a value of a newer release, which has none yet. */
export const wordOf = (t: Translate, kind: string, value: string): string | undefined => {
  const key = `${kind}.${value}`;
  return isMessageKey(key) ? t(message(key)) : undefined;
};

/** The id of a record inside text, such as `#12` in English. People type and search for ids, so the digits are Latin in every language. */
export const idText = (t: Translate, id: number): string => t(message('language.id', { id }));

/** Empty for an account without a name. */
const fullNameOf = ({ first_name: first, last_name: last }: NamedUser): string =>
  [first, last].filter(Boolean).join(' ');

/** The username and the full name on one line, for use inside text. */
export const userName = (user: NamedUser): string => {
  const name = fullNameOf(user);
  return `${isolate(String(user.username))}${name === '' ? '' : ` (${isolate(name)})`}`;
};

export const copyButton = (t: Translate, text: string): Html =>
  html`<button type="button" hidden data-copy="${text}" data-copied="${t(message('ops.copied'))}">${t(message('ops.copy'))}</button>`;

/** Path segment of the pages of members. */
export const MEMBERS = 'members';
const GROUP = /.{1,4}/g;

const named = (user: NamedUser, isLink: boolean): Content => {
  const { id, username } = user;
  const shown =
    username == null
      ? view`<bdi class="code" dir="ltr">${id === undefined ? '?' : message('language.id', { id })}</bdi>`
      : view`<bdi>${username}</bdi>`;
  const name = fullNameOf(user);
  return view`<span class="name">${isLink ? link(shown, `${MEMBERS}/${id}`) : shown}${name !== '' && view`<br><bdi>${name}</bdi>`}</span>`;
};

/** The values of facts and of cells in tables. */
export const cell = {
  amount: (tooman: number): Shown =>
    view`<strong class="whole">${message('ops.tooman', { amount: tooman })}</strong>`,

  /** A timestamp of the API. */
  time: (timestamp: string | null | undefined): Content =>
    timestamp == null ? null : ({ locale }) => timeOf(locale, parseTimestamp(timestamp)),

  word:
    (kind: string, value: string): Content =>
    ({ t }) =>
      wordOf(t, kind, value) ?? value,

  badge: (kind: 'good' | 'bad' | 'waiting' | '', content: Content): Shown =>
    view`<span class="${kind === '' ? 'badge' : `badge ${kind}`}">${content}</span>`,

  code: (text: string): Shown => view`<span class="code" dir="ltr">${text}</span>`,

  /** A code to copy into another program. A click selects the whole code, and the script reveals the copy button. */
  copyable: (code: string): Shown =>
    view`<span class="row"><span class="${SHORT_NUMBER.test(code) ? 'code whole' : 'code'}" dir="ltr">${code}</span>
${({ t }: Operator) => copyButton(t, code)}</span>`,

  /** An account number, which is easier to compare in groups. The copied text has no spaces. */
  account: (number: string | null | undefined): Content =>
    number != null &&
    view`<span class="row"><span class="code groups" dir="ltr">${(number.match(GROUP) ?? []).map((group) => view`<span class="whole">${group}</span>`)}</span>
${({ t }: Operator) => copyButton(t, number)}</span>`,

  /** The username, with the full name on a second line. In one line, two scripts would be hard to tell apart. Without one, the id. */
  name: (user: NamedUser): Content => named(user, false),

  /** Like `name`, with a link to the page of the member if the operator may see it. `id` identifies an account whose name is unknown. */
  member:
    (user: NamedUser | null | undefined, id?: number): Content =>
    ({ caller }) => {
      const known = { id, ...user };
      return named(known, known.id !== undefined && can(caller, 'users.view_all'));
    },
};
