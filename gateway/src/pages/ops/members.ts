/** People on the pages of `/ops`: each name leads to the page of its member. */
import { can } from '@fitness/shared/kernel/caller.ts';
import { type Html, html } from '@fitness/shared/pages/html.ts';
import { fullNameOf, idIn, type NamedUser, type Operator, pathOf, usernameOf } from './section.ts';

export const MEMBERS = 'members';

const memberPath = (operator: Operator, id: number | string, query = ''): string =>
  pathOf(operator, `${MEMBERS}/${id}`, query);

/**
 * The username, and the name on a line below it. No link for an operator who may not see that page. `id`: of an account whose name is not
 * known.
 */
export const memberLink = (operator: Operator, user: unknown, id?: number): Html => {
  const named: NamedUser = { id, ...(user as NamedUser | null) };
  const username = html`<bdi>${usernameOf(named)}</bdi>`;
  const name = fullNameOf(named);
  const below = name !== '' && html`<br><bdi>${name}</bdi>`;
  const isLinked = named.id !== undefined && can(operator.caller, 'users.view_all');
  const shown = isLinked ? html`<a href="${memberPath(operator, named.id ?? '')}">${username}</a>` : username;
  return html`<span>${shown}${below}</span>`;
};

/** How many names one request of the API reads. */
const NAMES_MAX = 100;

export type Names = ReadonlyMap<number, NamedUser>;

/** The names of these accounts. Those that the API does not tell are missing, and their ids are shown instead. */
export const readNames = async (
  operator: Operator,
  ids: readonly (number | null | undefined)[],
): Promise<Names> => {
  const wanted = [...new Set(ids.filter((id) => typeof id === 'number'))].slice(0, NAMES_MAX);
  const isAllowed = can(operator.caller, 'users.view_all') || can(operator.caller, 'users.view_limited');
  if (wanted.length === 0 || !isAllowed) return new Map();
  const { status, body } = await operator.api({ method: 'GET', path: `/users/names?ids=${wanted.join()}` });
  const named = status === 200 ? (body.data as (NamedUser & { id: number })[]) : [];
  return new Map(named.map((user) => [user.id, user]));
};

/** The API searches texts, and an id is none: its account is the first row of the first page. */
export const withMemberOfId = async (
  operator: Operator,
  body: Record<string, unknown>,
  search: string,
): Promise<Record<string, unknown>> => {
  const id = idIn(search.trim().replace(/^#/, ''));
  const { current_page: page } = (body.meta ?? {}) as { current_page?: number };
  if (id === undefined || (page ?? 1) > 1) return body;
  const answer = await operator.api({ method: 'GET', path: `/users/${id}` });
  if (answer.status !== 200) return body;
  const rows = body.data as { id: number }[];
  const others = rows.filter((row) => String(row.id) !== id);
  const { total = 0, ...meta } = (body.meta ?? {}) as { total?: number };
  // The search may have found the account by a text.
  const found = { ...meta, total: total + 1 - (rows.length - others.length) };
  return { ...body, data: [answer.body.user, ...others], meta: found };
};
