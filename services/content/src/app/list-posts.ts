/** The list of posts (specification 4.5, contract 5). */
import { type Caller, can } from '@fitness/shared/caller.ts';
import { notFound } from '@fitness/shared/error.ts';
import type { PageOf, PageRequest } from '@fitness/shared/http/pagination.ts';
import { type Order, readListPage } from '@fitness/shared/mongo/list-reader.ts';
import {
  type Blog,
  blogOf,
  cellsOf,
  countIn,
  facet,
  type Post,
  type Scope,
  type Where,
} from '../domain/post.ts';
import {
  isPublicProfile,
  type ProfileKind,
  type ProfileRef,
  type ProfileState,
  profileKey,
  userProfile,
} from '../domain/profile.ts';
import type { FacetQuery } from '../store/facets.ts';
import type { Profile } from '../store/profiles.ts';
import type { Parts } from './parts.ts';
import { type PostResource, showPosts } from './resources.ts';

interface PostQuery {
  /** All of them when undefined. */
  kinds?: readonly ProfileKind[] | undefined;
  itemIds?: readonly number[] | undefined;
  inBlog?: boolean | undefined;
  search?: string | undefined;
  order: Order;
}

/** 404 when one type and profiles that do not exist are asked for. */
export type ListPosts = (
  viewer: Caller,
  query: PostQuery,
  request: PageRequest,
) => Promise<{ page: PageOf<unknown>; data: PostResource[] }>;

export const listPosts =
  (parts: Parts): ListPosts =>
  async (viewer, query, request) => {
    const lists = await listsFor(parts, viewer, query);
    const page = await readPage(parts, lists, query, request);
    return { page, data: await showPosts(parts.decorations, page.rows) };
  };

/** One list: its word, how many posts it has, and the largest id among them. */
interface List {
  facet: string;
  total: number;
  newest: number;
}

const ALL_KINDS: readonly ProfileKind[] = ['gym', 'user'];

/** The lists that together hold what is asked for and may be seen; they have no post in common. */
const listsFor = async (parts: Parts, viewer: Caller, query: PostQuery): Promise<List[]> => {
  const kinds = query.kinds ?? ALL_KINDS;
  const blog = blogOf(query.inBlog);
  return query.itemIds === undefined
    ? everywhere(parts, viewer, kinds, blog)
    : onProfiles(parts, viewer, kinds, query.itemIds, blog);
};

const everywhere = async (
  { store }: Parts,
  viewer: Caller,
  kinds: readonly ProfileKind[],
  blog: Blog,
): Promise<List[]> => {
  const totals = await store.counters.posts();
  const [only] = kinds;
  const kind = kinds.length === 1 && only !== undefined ? only : 'any';
  const scope = can(viewer, 'posts.view_all') ? 'all' : 'public';
  const count = cellsOf(scope, kind, blog).reduce((sum, cell) => sum + totals.count(cell), 0);
  const common: List = { facet: facet(scope, kind, blog), total: count, newest: totals.newest };
  if (scope === 'all' || viewer.kind === 'guest') return [common];
  const own = (await store.profiles.ownedBy(viewer.userId)).filter(({ ref }) => kinds.includes(ref.kind));
  const ownScope: Scope = `own:${viewer.userId}`;
  const hidden: List = {
    facet: facet(ownScope, kind, blog),
    total: own.reduce((sum, { counts, state }) => sum + countIn(counts, state, 'own', blog), 0),
    newest: Math.max(0, ...own.map(({ newest }) => newest)),
  };
  return [common, hidden];
};

const seesAllOf = (viewer: Caller, state: ProfileState): boolean =>
  can(viewer, 'posts.view_all') || (viewer.kind === 'user' && viewer.userId === state.ownerUserId);

/** A profile that the viewer may not see is to him as one that does not exist. */
const isVisible = (viewer: Caller, state: ProfileState): boolean =>
  !state.gone && (isPublicProfile(state) || seesAllOf(viewer, state));

const onProfiles = async (
  parts: Parts,
  viewer: Caller,
  kinds: readonly ProfileKind[],
  itemIds: readonly number[],
  blog: Blog,
): Promise<List[]> => {
  const refs = kinds.flatMap((kind) => itemIds.map((id): ProfileRef => ({ kind, id })));
  const known = await parts.store.profiles.find(refs);
  const visible = [...known.values()].filter(({ state }) => isVisible(viewer, state));
  if (visible.length === 0 && kinds.length === 1) {
    const unknown = refs.filter((ref) => !known.has(profileKey(ref)));
    if (!(await anyVisible(parts, viewer, unknown))) throw notFound();
  }
  return visible.map((profile) => listOf(viewer, profile, blog));
};

const listOf = (viewer: Caller, { ref, state, counts, newest }: Profile, blog: Blog): List => {
  const scope = seesAllOf(viewer, state) ? 'all' : 'public';
  return {
    facet: facet(scope, profileKey(ref) as Where, blog),
    total: countIn(counts, state, scope, blog),
    newest,
  };
};

/** Asks the owners about profiles that were never heard of, and remembers gyms that exist. */
const anyVisible = async (
  { gyms, users, store }: Parts,
  viewer: Caller,
  refs: readonly ProfileRef[],
): Promise<boolean> => {
  const gymIds = refs.filter(({ kind }) => kind === 'gym').map(({ id }) => id);
  const userIds = refs.filter(({ kind }) => kind === 'user').map(({ id }) => id);
  const [foundGyms, hidden] = await Promise.all([gyms.find(gymIds), users.hidden(userIds)]);
  const foundUsers = userIds.filter((id) => !hidden.gone.has(id)).map(userProfile);
  for (const [id, { state, version }] of foundGyms)
    await store.profiles.ensure({ kind: 'gym', id }, state, version);
  return [...foundGyms.values(), ...foundUsers].some(({ state }) => isVisible(viewer, state));
};

const readPage = (
  { store }: Parts,
  lists: readonly List[],
  { search, order }: PostQuery,
  request: PageRequest,
): Promise<PageOf<Post>> => {
  const filled = lists.filter(({ total }) => total > 0);
  const query: FacetQuery = {
    facets: filled.map(({ facet: word }) => word),
    total: filled.reduce((sum, { total }) => sum + total, 0),
    newest: Math.max(0, ...filled.map(({ newest }) => newest)),
    search,
  };
  // The counters know how many posts a list has; how many hold a text is learnt by reading them.
  return readListPage((slice) => store.posts.list(query, slice), query, order, request);
};
