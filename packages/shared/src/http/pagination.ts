/**
 * Lists: `{data, links, meta}`, by page number or by keyset cursor. The sort key is an increasing integer;
 * a cursor is the last key of a page, which makes every page cost the same.
 */
import { hash } from 'node:crypto';
import { z } from 'zod';
import { invalid, message } from '../kernel/error.ts';
import type { CursorKey, PageOf, PageRequest } from '../kernel/page.ts';
import { queryCount } from './validation.ts';

export const DEFAULT_PER_PAGE = 30;
export const MAX_PER_PAGE = 100;
/** Limit for page numbers, because a page by number has to count or read the rows before it. */
export const SKIPPED_MAX = 10_000;

const count = queryCount(999_999_999);

/** The query fields of every list; spread them into the query schema of a route. */
export const pageQuery = {
  page: count.optional().meta({
    description:
      'Page number, from 1. Ignored with a `cursor`. Only a `cursor` reaches the pages that begin after item ' +
      `${SKIPPED_MAX.toLocaleString('en')}.`,
  }),
  per_page: count.optional().meta({
    description: `Items per page, ${DEFAULT_PER_PAGE} by default. A number above ${MAX_PER_PAGE} is treated as ${MAX_PER_PAGE}.`,
  }),
  cursor: z.string().max(500).optional().meta({ description: '`meta.next_cursor` of the previous page' }),
};

export type PageQuery = {
  page?: number | undefined;
  per_page?: number | undefined;
  cursor?: string | undefined;
};

/** The list of a cursor: its path, and its order if it has several with keys of one form. */
interface CursorList {
  /** Path and query of the request. */
  url: string;
  order?: string | undefined;
}

const CHECK_BYTES = 6;

/** A check value, which is not a secret. It detects cursors of other lists and changed, cut or invented ones. */
const checkOf = (text: string, { url, order = '' }: CursorList): Buffer => {
  const [path = ''] = url.split('?');
  const content = JSON.stringify([text, path.replace(/\/$/, ''), order]);
  return hash('sha256', content, 'buffer').subarray(0, CHECK_BYTES);
};

export const encodeCursor = (key: CursorKey, list: CursorList): string => {
  const text = JSON.stringify(key);
  return Buffer.concat([checkOf(text, list), Buffer.from(text)]).toString('base64url');
};

/** Ranks or distances, and an id. */
const cursorSchema = z.array(z.number().nonnegative()).refine((key) => Number.isSafeInteger(key.at(-1)));

const decodeCursor = (cursor: string, length: number, list: CursorList): CursorKey => {
  try {
    const text = Buffer.from(cursor, 'base64url').subarray(CHECK_BYTES).toString('utf8');
    const key = cursorSchema.length(length).parse(JSON.parse(text));
    // Each key has exactly one valid cursor, character for character.
    if (encodeCursor(key, list) === cursor) return key;
  } catch {
    // Every invalid cursor gets the same error.
  }
  throw invalid({ cursor: message('validation.cursor') });
};

interface RequestOptions {
  /** The number of integers in a cursor of this list. */
  keyLength?: number;
  /** See {@link PageRequest}. */
  signal?: AbortSignal;
  /** See {@link CursorList}. */
  order?: string | undefined;
}

/** `url`: path and query of the request. Throws 422 for the fields `cursor` and `page`. */
export const toPageRequest = (
  query: PageQuery,
  url: string,
  { keyLength = 1, signal, order }: RequestOptions = {},
): PageRequest => {
  const perPage = Math.min(query.per_page ?? DEFAULT_PER_PAGE, MAX_PER_PAGE);
  if (query.cursor !== undefined) {
    return { mode: 'cursor', perPage, after: decodeCursor(query.cursor, keyLength, { url, order }), signal };
  }
  const page = query.page ?? 1;
  if (page > lastReachable(perPage)) {
    throw invalid({ page: message('validation.page_too_far', { max: lastReachable(perPage) }) });
  }
  return { mode: 'page', page, perPage, skip: (page - 1) * perPage, signal };
};

/** The last page that can be reached by number. */
const lastReachable = (perPage: number): number => Math.ceil(SKIPPED_MAX / perPage);
/** The last page number with the default `per_page`. */
export const LAST_PAGE_NUMBER = lastReachable(DEFAULT_PER_PAGE);

const NULL_WITH_CURSOR = 'Null for a page by `cursor`.';
const NULL_WITHOUT_ROWS = 'Null for an empty page, and for a page by `cursor`.';
const UNKNOWN_WITH_CURSOR =
  'Null for a page by `cursor`, and for a search in which counting would read more than 1,000 rows.';

const linksSchema = z
  .object({
    first: z.string().nullable().meta({ description: 'Address of the first page' }),
    last: z
      .string()
      .nullable()
      .meta({
        description: `Address of the last page. ${UNKNOWN_WITH_CURSOR} Null, too, when page numbers do not reach the last page.`,
      }),
    prev: z.string().nullable().meta({
      description: 'Address of the previous page. Null on the first page, and for a page by `cursor`.',
    }),
    next: z
      .string()
      .nullable()
      .meta({
        description:
          'Address of the next page, or null on the last one. A page of a search that takes long may have fewer items, or ' +
          'none; `next` then continues the search by cursor. It also continues by cursor after the last page that a number ' +
          'reaches.',
      }),
  })
  .meta({ id: 'PageLinks', description: 'Addresses of the other pages of the list' });

const metaSchema = z
  .object({
    current_page: z
      .int()
      .nullable()
      .meta({ description: `Page number. ${NULL_WITH_CURSOR}` }),
    from: z
      .int()
      .nullable()
      .meta({ description: `Position of the first item on this page, from 1. ${NULL_WITHOUT_ROWS}` }),
    to: z
      .int()
      .nullable()
      .meta({ description: `Position of the last item on this page. ${NULL_WITHOUT_ROWS}` }),
    per_page: z.int().meta({ description: 'Maximum number of items per page' }),
    last_page: z
      .int()
      .nullable()
      .meta({ description: `Number of the last page. ${UNKNOWN_WITH_CURSOR}` }),
    total: z
      .int()
      .nullable()
      .meta({ description: `Number of items on all pages. ${UNKNOWN_WITH_CURSOR}` }),
    path: z.string().meta({ description: 'Address of the list, without a query' }),
    next_cursor: z
      .string()
      .nullable()
      .meta({ description: '`cursor` of the next page. Null on the last page.' }),
  })
  .meta({ id: 'PageMeta', description: 'Where this page is in the list' });

/** The response schema of a list of `row`. */
export const listOf = <Row extends z.ZodType>(row: Row) =>
  z.object({
    data: z.array(row).meta({ description: 'Items on this page' }),
    links: linksSchema,
    meta: metaSchema,
  });

export interface ListBody<Row> {
  data: Row[];
  links: z.output<typeof linksSchema>;
  meta: z.output<typeof metaSchema>;
}

/**
 * The body of a list. `baseUrl` is the public origin, `url` the path and query of the request. `data` are the resources;
 * there may be fewer than `page.rows` if some are hidden when the list is read.
 */
export const listBody = <Row>(options: {
  baseUrl: string;
  url: string;
  request: PageRequest;
  page: PageOf<unknown>;
  data: Row[];
  /** The value that {@link toPageRequest} was called with. */
  order?: string | undefined;
}): ListBody<Row> => {
  const { baseUrl, request, page, data } = options;
  const requestUrl = new URL(options.url, baseUrl);
  const path = `${baseUrl}${requestUrl.pathname}`;
  const link = (change: { page?: number; cursor?: string }): string => {
    const target = new URLSearchParams(requestUrl.searchParams);
    target.delete('page');
    target.delete('cursor');
    if (change.page !== undefined) target.set('page', String(change.page));
    if (change.cursor !== undefined) target.set('cursor', change.cursor);
    return `${path}?${target.toString()}`;
  };
  const nextCursor = page.next === undefined ? null : encodeCursor(page.next, options);
  const common = { per_page: request.perPage, path, next_cursor: nextCursor };
  if (request.mode === 'cursor') {
    const next = nextCursor === null ? null : link({ cursor: nextCursor });
    return {
      data,
      links: { first: link({ page: 1 }), last: null, prev: null, next },
      meta: {
        ...common,
        current_page: null,
        from: null,
        to: null,
        last_page: null,
        total: page.total ?? null,
      },
    };
  }
  // Undefined when the rows are not counted; then the last page is unknown.
  const { total } = page;
  const lastPage = total === undefined ? undefined : Math.max(1, Math.ceil(total / request.perPage));
  const hasNext = lastPage === undefined ? page.next !== undefined : request.page < lastPage;
  // A search ended at its limit before the page was full. Unlike a cursor, the next page number would search the same rows again.
  const isCut = lastPage === undefined && page.rows.length < request.perPage && nextCursor !== null;
  const reachable = lastReachable(request.perPage);
  const byCursor = nextCursor === null ? null : link({ cursor: nextCursor });
  const nextLink = isCut || request.page === reachable ? byCursor : link({ page: request.page + 1 });
  const from = page.rows.length === 0 ? null : request.skip + 1;
  const to = page.rows.length === 0 ? null : request.skip + page.rows.length;
  return {
    data,
    links: {
      first: link({ page: 1 }),
      last: lastPage === undefined || lastPage > reachable ? null : link({ page: lastPage }),
      prev: request.page > 1 ? link({ page: Math.min(request.page - 1, lastPage ?? request.page) }) : null,
      next: hasNext ? nextLink : null,
    },
    meta: {
      ...common,
      current_page: request.page,
      from,
      to,
      last_page: lastPage ?? null,
      total: total ?? null,
    },
  };
};
