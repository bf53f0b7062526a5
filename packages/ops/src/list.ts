/** Paged lists of the API: what a page shows of them, whether they have changed, and how many rows wait. */

import { API_PREFIX } from '@fitness/shared/http/gateway-protocol.ts';
import { encodeCursor, LAST_PAGE_NUMBER } from '@fitness/shared/http/pagination.ts';
import { type Message, message } from '@fitness/shared/kernel/error.ts';
import type { MessageKey } from '@fitness/shared/kernel/i18n/catalogue.ts';
import type { Fields } from '@fitness/shared/pages/form-pages.ts';
import type { BodyOf, Call, Declaration, InputOf, OperationName } from './call.ts';
import { type Column, type Content, card, link, notice, part, table, view } from './content.ts';
import type { Operator, Waiting } from './operator.ts';

/** `last_page` is null if the API has not counted the rows, which then have only a cursor. */
type Meta = Partial<BodyOf<'GET /users'>['meta']>;
interface Body<Row> {
  data: readonly Row[];
  meta?: Meta;
}
export type RowOf<Name extends OperationName> = BodyOf<Name> extends { data: (infer Row)[] } ? Row : never;

/** The page number in a query. Invalid values become 1, and large ones the highest page that the API accepts. */
export const pageIn = (query: Fields, name = 'page'): string =>
  /^[1-9]\d{0,6}$/.test(query[name] ?? '') ? String(Math.min(Number(query[name]), LAST_PAGE_NUMBER)) : '1';

const CURSOR = /^[A-Za-z0-9._~=-]{1,300}$/;
/** The cursor in a list without page numbers. Undefined if it is missing or malformed. */
export const cursorIn = ({ cursor = '' }: Fields): string | undefined =>
  CURSOR.test(cursor) ? cursor : undefined;

interface Paged {
  meta: Meta | undefined;
  /** Undefined if the page has no rows. */
  rows: Content | undefined;
  none: MessageKey;
  /** Names the pagination for screen readers on a page with several lists. */
  label?: MessageKey;
  /** The control that leads to another page. */
  turn(to: number, label: Message): Content;
}

/** The rows of one page, with controls for the other pages. A page that has become empty leads back. */
export const paged = ({ meta = {}, rows, none, label = 'ops.pages', turn }: Paged): Content => {
  const { current_page: page, last_page: last } = meta;
  const isPaged = page != null && last != null && (page > 1 || last > 1);
  if (!isPaged) return rows ?? notice(message(none));
  return view`${rows}
<nav class="row" aria-label="${message(label)}">
${page > 1 && turn(Math.min(page - 1, last), message('ops.previous'))}
${page <= last && view`<span>${message('ops.page', { page, last })}</span>`}
${page < Math.min(last, LAST_PAGE_NUMBER) && turn(page + 1, message('ops.next'))}
</nav>`;
};

/** Paginates by links. `pages` maps the parameter of each list on the page to its page number. */
export const turnByLink =
  ({ slug }: Operator, name: string, pages: Fields): Paged['turn'] =>
  (to, label) =>
    link(label, slug, { ...pages, [name]: to });

export const itemsOf = (items: readonly Content[]): Content | undefined =>
  items.length === 0
    ? undefined
    : view`<ul class="items" role="list">${items.map((item) => view`<li>${item}</li>\n`)}</ul>`;

/** Reads rows of a list with more parameters. */
const readRows = async <Name extends OperationName>(
  operator: Operator,
  call: Call<Name>,
  input: object,
  query: object,
): Promise<Body<RowOf<Name>>> => {
  const all = { ...input, query: { ...(input as { query?: object }).query, ...query } };
  return (await call.read(operator, all as InputOf<Name>)) as Body<RowOf<Name>>;
};

/** The highest page number with one row per page. */
const LAST_SINGLE_PAGE = 10_000;

const countRows = async <Name extends OperationName>(
  operator: Operator,
  call: Call<Name>,
  input: object,
  isLast = false,
): Promise<{ count: number; row: RowOf<Name> | undefined }> => {
  const pageOf = (page: number) => readRows(operator, call, input, { per_page: 1, page });
  const first = await pageOf(1);
  const count = first.meta?.total ?? 0;
  const shown = isLast && count > 1 ? await pageOf(Math.min(count, LAST_SINGLE_PAGE)) : first;
  return { count, row: shown.data[0] };
};

/** The number of rows in a list. */
export const countOf = async <Name extends OperationName>(
  operator: Operator,
  call: Call<Name>,
  input: InputOf<Name>,
): Promise<number> => (await countRows(operator, call, input as object)).count;

interface ListOptions<Name extends OperationName> {
  call: Call<Name>;
  /** The calls that an operator needs to see this list of several. */
  needs?: readonly Declaration[];
  /** Parameters of the call, besides the page. */
  input?: InputOf<Name> | ((operator: Operator) => InputOf<Name>);
  /** The parameter for the page number in the address. Default: `page`. */
  page?: string;
  title?: MessageKey;
  none: MessageKey;
  columns?: readonly Column<RowOf<Name>>[];
  /** The rows of a list that is no table. */
  items?(
    rows: readonly RowOf<Name>[],
    operator: Operator,
    body: BodyOf<Name>,
  ): Promise<readonly Content[]> | readonly Content[];
  /** A text above more than one row. */
  hint?: MessageKey;
  /** Default: the field `id`. */
  idOf?(row: RowOf<Name>): number;
  /** Set if rows wait for an operator. `oldest` is the time of a row, and `isReversed` says that the list has the newest row first. */
  waiting?: {
    label: MessageKey;
    lateAfterMs?: number;
    oldest?: (row: RowOf<Name>) => string;
    isReversed?: true;
  };
}

/** A list, whatever its rows are. */
export interface AnyList {
  page: string;
  isFor(operator: Operator): boolean;
  title: MessageKey | undefined;
  /** `pages` has the page number of each list on the page. */
  show(operator: Operator, pages: Fields): Promise<Content>;
  /** The ids on the page, which change with its rows. */
  ids(operator: Operator): Promise<string>;
  waiting: ((operator: Operator) => Promise<Waiting>) | undefined;
}

export interface List<Row> extends AnyList {
  /** Finds a row by id, in a list that is sorted by descending id. The cursor after the next higher id starts at this row. */
  find(operator: Operator, id: string | undefined): Promise<Row | undefined>;
}

export const list = <Name extends OperationName>(options: ListOptions<Name>): List<RowOf<Name>> => {
  type Row = RowOf<Name>;
  const { call, columns = [], items, title, none, page = 'page', waiting, needs = [] } = options;
  const inputOf = (operator: Operator): object =>
    typeof options.input === 'function' ? options.input(operator) : (options.input ?? {});
  const { idOf = (row: Row) => (row as { id: number }).id } = options;
  const read = (operator: Operator): Promise<Body<Row>> =>
    readRows(operator, call, inputOf(operator), { page: pageIn(operator.query, page) });
  return {
    page,
    title,
    isFor: (operator) => needs.every((needed) => needed.isFor(operator)),
    show: async (operator, pages) => {
      const body = await read(operator);
      const rows =
        items === undefined
          ? table(columns, body.data)
          : itemsOf(await items(body.data, operator, body as BodyOf<Name>));
      const turn = turnByLink(operator, page, pages);
      const hint = options.hint !== undefined && body.data.length > 1;
      return view`${hint && view`<p class="quiet">${message(options.hint ?? none)}</p>\n`}${paged({ meta: body.meta, rows, none, turn, ...(title === undefined ? {} : { label: title }) })}`;
    },
    ids: async (operator) => (await read(operator)).data.map(idOf).join(),
    waiting:
      waiting &&
      (async (operator) => {
        const { label, lateAfterMs, oldest, isReversed } = waiting;
        const { count, row } = await countRows(operator, call, inputOf(operator), isReversed);
        return { label, count, lateAfterMs, oldest: row && oldest?.(row) };
      }),
    find: async (operator, id) => {
      if (id === undefined) return undefined;
      const input = inputOf(operator);
      const url = `${API_PREFIX}${call.pathOf(input as InputOf<Name>)}`;
      const cursor = encodeCursor([Number(id) + 1], { url });
      const [row] = (await readRows(operator, call, input, { per_page: 1, cursor })).data;
      return row !== undefined && String(idOf(row)) === id ? row : undefined;
    },
  };
};

/** The page number of each list on a page. */
export const pagesOf = ({ query }: Operator, lists: readonly AnyList[]): Fields =>
  Object.fromEntries(lists.map(({ page }) => [page, pageIn(query, page)]));

const visible = (operator: Operator, lists: readonly AnyList[]): AnyList[] =>
  lists.filter((one) => one.isFor(operator));

/** A card for each list. If the service of a list with a title does not answer, only its card reports it. */
export const showLists = async (operator: Operator, lists: readonly AnyList[]): Promise<Content> => {
  const shown = visible(operator, lists);
  const pages = pagesOf(operator, shown);
  return Promise.all(
    shown.map(async ({ title, show }) =>
      title === undefined
        ? card(undefined, await show(operator, pages))
        : part(title, () => show(operator, pages)),
    ),
  );
};

/** A value that changes with the rows of the lists. */
export const watchLists = async (operator: Operator, lists: readonly AnyList[]): Promise<string> =>
  (await Promise.all(visible(operator, lists).map(({ ids }) => ids(operator)))).join(' ');

export const waitingIn = (operator: Operator, lists: readonly AnyList[]): Promise<Waiting[]> =>
  Promise.all(
    visible(operator, lists).flatMap(({ waiting }) => (waiting === undefined ? [] : [waiting(operator)])),
  );
