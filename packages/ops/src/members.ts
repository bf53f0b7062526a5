/** Members on the pages of `/ops`. Each name links to the page of the member. */
import { can } from '@fitness/shared/kernel/caller.ts';
import { type Html, html } from '@fitness/shared/pages/html.ts';
import { fullNameOf, idText, type NamedUser, type Operator, pathOf, read, typedIdIn } from './section.ts';

export const MEMBERS = 'members';

const memberPath = (operator: Operator, id: number | string, query = ''): string =>
  pathOf(operator, `${MEMBERS}/${id}`, query);

/** The username, with the full name on a second line. In one line, two scripts would be hard to tell apart. */
const withName = (username: Html, named: NamedUser): Html => {
  const name = fullNameOf(named);
  return html`<span class="name">${username}${name !== '' && html`<br><bdi>${name}</bdi>`}</span>`;
};

/** The username. For an unknown one, the id, which can be searched for. */
const usernameIn = ({ t }: Operator, { id, username }: NamedUser): Html =>
  username == null
    ? html`<bdi class="code" dir="ltr">${id === undefined ? '?' : idText(t, id)}</bdi>`
    : html`<bdi>${username}</bdi>`;

export const nameOf = (operator: Operator, user: NamedUser): Html =>
  withName(usernameIn(operator, user), user);

/** Links {@link nameOf} to the member page if the operator may see it. `id` identifies an account whose name is unknown. */
export const memberLink = (operator: Operator, user: unknown, id?: number): Html => {
  const named: NamedUser = { id, ...(user as NamedUser | null) };
  if (named.id === undefined || !can(operator.caller, 'users.view_all')) return nameOf(operator, named);
  return withName(
    html`<a href="${memberPath(operator, named.id)}">${usernameIn(operator, named)}</a>`,
    named,
  );
};

/** Maximum names per request of the API. */
const NAMES_MAX = 100;

export type Names = ReadonlyMap<number, NamedUser>;

/** Reads the names of these accounts. Names that the API does not return are missing, and pages show their ids instead. */
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

/** Maximum pages of search results that are read for one username. */
const SEARCHED_PAGES = 10;

/**
 * Finds an account by `12`, `#12`, or its username in any case. Returns `none` if there is no such account, and `unfinished` if too many
 * usernames contain the text.
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
  /** Null if the results are too many to count. */
  total?: number | null;
}

/** Puts the account with the id that was searched for first on the first page, because the API searches only texts. */
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
  // The search may have returned the account for a text match.
  const added = 1 - (rows.length - others.length);
  const counted = total == null ? null : total + added;
  return { ...body, data: [answer.body.user, ...others], meta: { ...meta, total: counted } };
};
