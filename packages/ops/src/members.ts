/** Accounts: their names, and how an operator finds one. */
import type { Schemas } from '@fitness/client';
import type { ApiAnswer } from '@fitness/shared/pages/visitor.ts';
import { type BodyOf, call } from './call.ts';
import type { NamedUser } from './content.ts';
import { idIn, type Operator, typedIdIn } from './operator.ts';

export type User = Schemas['User'];

export const user = call('GET /users/{id}', ['users.view_all']);
export const users = call('GET /users', ['users.view_limited', 'users.view_all']);
export const updateUser = call(
  'PUT /users/{id}',
  ['users.update_any'],
  ['role_ids', 'trainer_license_approved', 'trainer_license_rejection_reason', 'trainer_license_media_id'],
);
const userNames = call('GET /users/names', ['users.view_limited', 'users.view_all']);

/** The id of the member in the address. */
export const memberIdIn = ({ query }: Operator): string => idIn(query.id) ?? '0';

/** Undefined if the account does not exist, or no longer does. */
export const findMember = async (operator: Operator, id: string): Promise<User | undefined> =>
  (await user.find(operator, { id }))?.user;

/** Maximum names per request of the API. */
const NAMES_MAX = 100;

export type Names = ReadonlyMap<number, NamedUser>;

const namesIn = ({ status, body }: ApiAnswer): BodyOf<'GET /users/names'>['data'] =>
  status === 200 ? (body as BodyOf<'GET /users/names'>).data : [];

/** Reads the names of these accounts. Names that the API does not return are missing, and pages show their ids instead. */
export const readNames = async (
  operator: Operator,
  ids: readonly (number | null | undefined)[],
): Promise<Names> => {
  const needed = [...new Set(ids.filter((id) => typeof id === 'number'))];
  if (!userNames.isFor(operator)) return new Map();
  const slices = Array.from({ length: Math.ceil(needed.length / NAMES_MAX) }, (_, index) =>
    needed.slice(index * NAMES_MAX, (index + 1) * NAMES_MAX),
  );
  const answers = await Promise.all(
    slices.map((slice) => userNames.send(operator, { query: { ids: slice.join() } })),
  );
  return new Map(answers.flatMap(namesIn).map((named) => [named.id, named]));
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
  if (!users.isFor(operator)) return 'none';
  let cursor: string | undefined;
  for (let page = 0; page < SEARCHED_PAGES; page += 1) {
    const { data, meta } = await users.read(operator, { query: { search: login, per_page: 100, cursor } });
    const found = data.find(({ username }) => username.toLowerCase() === login.toLowerCase());
    if (found !== undefined) return found.id;
    if (meta?.next_cursor == null) return 'none';
    cursor = meta.next_cursor;
  }
  return 'unfinished';
};

export type Results = BodyOf<'GET /users'>;

/** Puts the account with the id that was searched for first on the first page, because the API searches only texts. */
export const withMemberOfId = async (operator: Operator, body: Results, search: string): Promise<Results> => {
  const id = typedIdIn(search);
  const { data, meta } = body;
  if (id === undefined || meta?.current_page !== 1) return body;
  const answer = await user.find(operator, { id });
  if (answer === undefined) return body;
  const others = data.filter((row) => String(row.id) !== id);
  // The search may have returned the account for a text match.
  const added = 1 - (data.length - others.length);
  const total = meta.total == null ? null : meta.total + added;
  return { ...body, data: [answer.user, ...others], meta: { ...meta, total } };
};
