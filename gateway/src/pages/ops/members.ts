/** People on the pages of `/ops`: each name leads to the page of its member. */
import { can } from '@fitness/shared/kernel/caller.ts';
import { type Html, html } from '@fitness/shared/pages/html.ts';
import { fullNameOf, type NamedUser, type Operator, pathOf, read, typedIdIn, usernameOf } from './section.ts';

export const MEMBERS = 'members';

const memberPath = (operator: Operator, id: number | string, query = ''): string =>
  pathOf(operator, `${MEMBERS}/${id}`, query);

/** The username, and the name on a line below it: on one line readers of two scripts do not see where each begins. */
const withName = (username: Html, named: NamedUser): Html => {
  const name = fullNameOf(named);
  return html`<span class="name">${username}${name !== '' && html`<br><bdi>${name}</bdi>`}</span>`;
};

/** An account whose name is not known has its id, in Latin digits as it is searched. */
const usernameIn = (user: NamedUser): Html =>
  user.username == null
    ? html`<bdi class="code" dir="ltr">${usernameOf(user)}</bdi>`
    : html`<bdi>${user.username}</bdi>`;

export const nameOf = (user: NamedUser): Html => withName(usernameIn(user), user);

/** {@link nameOf}. No link for an operator who may not see that page. `id`: of an account whose name is not known. */
export const memberLink = (operator: Operator, user: unknown, id?: number): Html => {
  const named: NamedUser = { id, ...(user as NamedUser | null) };
  if (named.id === undefined || !can(operator.caller, 'users.view_all')) return nameOf(named);
  return withName(html`<a href="${memberPath(operator, named.id)}">${usernameIn(named)}</a>`, named);
};

/** How many names one request of the API reads. */
const NAMES_MAX = 100;

export type Names = ReadonlyMap<number, NamedUser>;

/** The names of these accounts. Those that the API does not tell are missing, and their ids are shown instead. */
export const readNames = async (
  operator: Operator,
  ids: readonly (number | null | undefined)[],
): Promise<Names> => {
  const needed = [...new Set(ids.filter((id) => typeof id === 'number'))];
  const isAllowed = can(operator.caller, 'users.view_all') || can(operator.caller, 'users.view_limited');
  if (needed.length === 0 || !isAllowed) return new Map();
  const slices = Array.from({ length: Math.ceil(needed.length / NAMES_MAX) }, (_, index) =>
    needed.slice(index * NAMES_MAX, (index + 1) * NAMES_MAX),
  );
  const named = await Promise.all(slices.map((slice) => readSlice(operator, slice)));
  return new Map(named.flat().map((user) => [user.id, user]));
};

const readSlice = async (
  operator: Operator,
  ids: readonly number[],
): Promise<(NamedUser & { id: number })[]> => {
  const { status, body } = await operator.api({ method: 'GET', path: `/users/names?ids=${ids.join()}` });
  return status === 200 ? (body.data as (NamedUser & { id: number })[]) : [];
};

/** Usernames that contain another one: so many pages of them are looked through. */
const SEARCHED_PAGES = 10;

/**
 * The account of an id, of `#` and an id, or of a username in any case. `none`: there is no such account. `unfinished`: more usernames
 * contain the text than are looked through.
 */
export const findIdOf = async (operator: Operator, text: string): Promise<number | 'none' | 'unfinished'> => {
  const login = text.trim();
  const id = typedIdIn(login);
  if (id !== undefined) return Number(id);
  const maySearch = can(operator.caller, 'users.view_limited') || can(operator.caller, 'users.view_all');
  if (!maySearch) return 'none';
  let position: Record<string, string> = {};
  for (let page = 0; page < SEARCHED_PAGES; page += 1) {
    const query = new URLSearchParams({ search: login, per_page: '100', ...position });
    const body = await read(operator, `/users?${query}`);
    const users = body.data as { id: number; username: string }[];
    const user = users.find(({ username }) => username.toLowerCase() === login.toLowerCase());
    if (user !== undefined) return user.id;
    const { next_cursor: cursor } = (body.meta ?? {}) as { next_cursor?: string | null };
    if (cursor == null) return 'none';
    position = { cursor };
  }
  return 'unfinished';
};

interface SearchMeta {
  current_page?: number | null;
  /** Null: counting would have cost too much. */
  total?: number | null;
}

/** The API searches texts, and an id is none: its account is the first row of the first page. */
export const withMemberOfId = async (
  operator: Operator,
  body: Record<string, unknown>,
  search: string,
): Promise<Record<string, unknown>> => {
  const id = typedIdIn(search);
  const { total, ...meta } = (body.meta ?? {}) as SearchMeta;
  if (id === undefined || meta.current_page !== 1) return body;
  const answer = await operator.api({ method: 'GET', path: `/users/${id}` });
  if (answer.status !== 200) return body;
  const rows = body.data as { id: number }[];
  const others = rows.filter((row) => String(row.id) !== id);
  // The search may have found the account by a text.
  const added = 1 - (rows.length - others.length);
  const counted = total == null ? null : total + added;
  return { ...body, data: [answer.body.user, ...others], meta: { ...meta, total: counted } };
};
