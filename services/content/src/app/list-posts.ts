/** The list of posts (specification 4.5, contract 5). */
import { type Caller, can } from '@fitness/shared/caller.ts';
import { notFound } from '@fitness/shared/error.ts';
import type { PageOf, PageRequest } from '@fitness/shared/http/pagination.ts';
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
import { asksForText } from '../domain/search.ts';
import type { IdStream, Order } from '../store/id-stream.ts';
import type { Profile } from '../store/profiles.ts';
import type { Parts } from './parts.ts';
import { type PostResource, showPosts } from './resources.ts';

export interface PostQuery {
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
    const streams = await streamsFor(parts, viewer, query);
    const page = asksForText(query.search)
      ? await searchPage(parts, streams, query.search, query.order, request)
      : await plainPage(parts, streams, query.order, request);
    return { page, data: await showPosts(parts.decorations, page.rows) };
  };

const ALL_KINDS: readonly ProfileKind[] = ['gym', 'user'];

/** The lists that together hold what is asked for and may be seen; they have no post in common. */
const streamsFor = async (parts: Parts, viewer: Caller, query: PostQuery): Promise<IdStream[]> => {
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
): Promise<IdStream[]> => {
  const totals = await store.counters.posts();
  const [only] = kinds;
  const kind = kinds.length === 1 && only !== undefined ? only : 'any';
  const scope = can(viewer, 'posts.view_all') ? 'all' : 'public';
  const count = cellsOf(scope, kind, blog).reduce((sum, cell) => sum + totals.count(cell), 0);
  const common: IdStream = { facet: facet(scope, kind, blog), total: count, newest: totals.newest };
  if (scope === 'all' || viewer.kind === 'guest') return [common];
  const own = (await store.profiles.ownedBy(viewer.userId)).filter(({ ref }) => kinds.includes(ref.kind));
  const ownScope: Scope = `own:${viewer.userId}`;
  const hidden: IdStream = {
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
): Promise<IdStream[]> => {
  const refs = kinds.flatMap((kind) => itemIds.map((id): ProfileRef => ({ kind, id })));
  const known = await parts.store.profiles.find(refs);
  const visible = [...known.values()].filter(({ state }) => isVisible(viewer, state));
  if (visible.length === 0 && kinds.length === 1) {
    const unknown = refs.filter((ref) => !known.has(profileKey(ref)));
    if (!(await anyVisible(parts, viewer, unknown))) throw notFound();
  }
  return visible.map((profile) => streamOf(viewer, profile, blog));
};

const streamOf = (viewer: Caller, { ref, state, counts, newest }: Profile, blog: Blog): IdStream => {
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
  for (const [id, state] of foundGyms) await store.profiles.ensure({ kind: 'gym', id }, state);
  const states = [...foundGyms.values(), ...foundUsers.map(({ state }) => state)];
  return states.some((state) => isVisible(viewer, state));
};

const plainPage = async (
  { store }: Parts,
  streams: readonly IdStream[],
  order: Order,
  request: PageRequest,
): Promise<PageOf<Post>> => {
  const total = streams.reduce((sum, stream) => sum + stream.total, 0);
  const { skip, after } = windowOf(request);
  if (skip >= total) return { rows: [], total, next: undefined };
  const ids = await store.posts.ids(streams, { order, after, need: skip + request.perPage + 1 });
  return pageOf(store, ids, skip, request, total);
};

const searchPage = async (
  { store }: Parts,
  streams: readonly IdStream[],
  search: string,
  order: Order,
  request: PageRequest,
): Promise<PageOf<Post>> => {
  const filled = streams.filter(({ total }) => total > 0);
  if (filled.length === 0) return { rows: [], total: 0, next: undefined };
  const { skip, after } = windowOf(request);
  const found = await store.posts.search(
    {
      facets: filled.map((stream) => stream.facet),
      query: search,
      total: filled.reduce((sum, stream) => sum + stream.total, 0),
      newest: Math.max(...filled.map(({ newest }) => newest)),
    },
    { order, after, need: skip + request.perPage + 1 },
  );
  return pageOf(store, found.ids, skip, request, found.total);
};

const windowOf = (request: PageRequest): { skip: number; after: number | undefined } =>
  request.mode === 'page' ? { skip: request.skip, after: undefined } : { skip: 0, after: request.after[0] };

const pageOf = async (
  store: Parts['store'],
  ids: readonly number[],
  skip: number,
  { mode, perPage }: PageRequest,
  total: number | undefined,
): Promise<PageOf<Post>> => {
  const shown = ids.slice(skip, skip + perPage);
  const last = shown.at(-1);
  return {
    rows: await store.posts.findMany(shown),
    total: mode === 'page' ? total : undefined,
    next: ids.length > skip + perPage && last !== undefined ? [last] : undefined,
  };
};
