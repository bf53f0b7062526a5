/** The list of posts (specification 4.5). */
import { type Caller, can } from '@fitness/shared/kernel/caller.ts';
import { notFound } from '@fitness/shared/kernel/error.ts';
import type { PageOf, PageRequest } from '@fitness/shared/kernel/page.ts';
import type { Order } from '@fitness/shared/lists/list.ts';
import { readListPage } from '@fitness/shared/lists/pages.ts';
import type { Dependencies } from '../dependencies.ts';
import { seesAllPostsOf, seesProfile } from '../domain/access.ts';
import type { Post } from '../domain/post.ts';
import {
  type BlogFilter,
  blogOf,
  countIn,
  facet,
  type ProfileFilter,
  type Scope,
  totalKeysOf,
} from '../domain/post-lists.ts';
import { type ProfileKind, type ProfileRef, profileKey } from '../domain/profile.ts';
import type { PostTotals } from '../store/counters.ts';
import type { Profile } from '../store/profiles.ts';
import { createFetchProfiles } from './fetch-profiles.ts';
import { type PostResource, toPostResource } from './post-resource.ts';

interface PostQuery {
  /** Undefined: all of them. */
  kinds?: readonly ProfileKind[] | undefined;
  itemIds?: readonly number[] | undefined;
  inBlog?: boolean | undefined;
  search?: string | undefined;
  order: Order;
}

/** 404 for one profile type with `itemIds` of which the viewer may see none. */
export type ListPosts = (
  viewer: Caller,
  query: PostQuery,
  request: PageRequest,
) => Promise<{ page: PageOf<unknown>; data: PostResource[] }>;

export const createListPosts = (
  dependencies: Pick<Dependencies, 'store' | 'gyms' | 'users' | 'baseUrl'>,
): ListPosts => {
  const { store, baseUrl } = dependencies;
  const listsOfProfiles = createListsOfProfiles(dependencies);
  return async (viewer, query, request) => {
    const kinds = query.kinds ?? ALL_KINDS;
    const blog = blogOf(query.inBlog);
    const totals = await store.counters.posts();
    const lists =
      query.itemIds === undefined
        ? await listsOfAll(store, totals, viewer, kinds, blog)
        : await listsOfProfiles(viewer, kinds, query.itemIds, blog);
    const page = await readPage(store, lists, { ...query, versions: totals.versions }, request);
    return { page, data: page.rows.map((post) => toPostResource(post, baseUrl)) };
  };
};

const ALL_KINDS: readonly ProfileKind[] = ['gym', 'user'];

interface PartOfList {
  facet: string;
  total: number;
  /** The largest id that one of its posts may have. */
  newest: number;
}

/** The lists without `itemIds`; no post is in two of them. */
const listsOfAll = async (
  store: Dependencies['store'],
  totals: PostTotals,
  viewer: Caller,
  kinds: readonly ProfileKind[],
  blog: BlogFilter,
): Promise<PartOfList[]> => {
  const [only] = kinds;
  const kind = kinds.length === 1 && only !== undefined ? only : 'any';
  const scope = can(viewer, 'posts.view_all') ? 'all' : 'public';
  const count = totalKeysOf(scope, kind, blog).reduce((sum, key) => sum + totals.count(key), 0);
  const common: PartOfList = { facet: facet(scope, kind, blog), total: count, newest: totals.newest };
  if (scope === 'all' || viewer.kind === 'guest') return [common];
  const ownScope: Scope = `own:${viewer.userId}`;
  const hidden = facet(ownScope, kind, blog);
  const total = await store.posts.count(hidden, totals.versions);
  return [common, { facet: hidden, total, newest: totals.newest }];
};

/** The lists with `itemIds`: one for each profile that the viewer may see. */
const createListsOfProfiles = (dependencies: Pick<Dependencies, 'store' | 'gyms' | 'users'>) => {
  const { store } = dependencies;
  const seesUnknown = createSeesUnknown(dependencies);
  return async (
    viewer: Caller,
    kinds: readonly ProfileKind[],
    itemIds: readonly number[],
    blog: BlogFilter,
  ): Promise<PartOfList[]> => {
    const refs = kinds.flatMap((kind) => itemIds.map((id): ProfileRef => ({ kind, id })));
    const known = await store.profiles.find(refs);
    const visible = [...known.values()].filter(({ state }) => seesProfile(viewer, state));
    if (visible.length === 0 && kinds.length === 1) {
      const unknown = refs.filter((ref) => !known.has(profileKey(ref)));
      if (!(await seesUnknown(viewer, unknown))) throw notFound();
    }
    return visible.map((profile) => listOf(viewer, profile, blog));
  };
};

const listOf = (viewer: Caller, { ref, state, counts, newest }: Profile, blog: BlogFilter): PartOfList => {
  const scope = seesAllPostsOf(viewer, state) ? 'all' : 'public';
  return {
    facet: facet(scope, profileKey(ref) as ProfileFilter, blog),
    total: countIn(counts, state, scope, blog),
    newest,
  };
};

/** Whether the viewer may see one of these profiles, which the read model does not have. Stores the gyms that exist. */
const createSeesUnknown = (dependencies: Pick<Dependencies, 'store' | 'gyms' | 'users'>) => {
  const { store } = dependencies;
  const fetchProfiles = createFetchProfiles(dependencies);
  return async (viewer: Caller, refs: readonly ProfileRef[]): Promise<boolean> => {
    const fetched = await fetchProfiles(refs);
    for (const ref of refs) {
      const gym = ref.kind === 'gym' ? fetched.get(profileKey(ref)) : undefined;
      if (gym !== undefined) await store.profiles.insertIfMissing(ref, gym);
    }
    return [...fetched.values()].some(({ state }) => seesProfile(viewer, state));
  };
};

const readPage = (
  store: Dependencies['store'],
  lists: readonly PartOfList[],
  { search, order, versions }: PostQuery & Pick<PostTotals, 'versions'>,
  request: PageRequest,
): Promise<PageOf<Post>> => {
  const total = lists.reduce((sum, list) => sum + list.total, 0);
  const newest = Math.max(0, ...lists.map((list) => list.newest));
  const query = { facets: lists.map((list) => list.facet), total, newest, search, versions };
  return readListPage((slice) => store.posts.list(query, slice), { total, search }, order, request);
};
