/** The list of posts (specification 4.5). */
import { type Caller, can } from '@fitness/shared/kernel/caller.ts';
import { notFound } from '@fitness/shared/kernel/error.ts';
import type { PageOf, PageRequest } from '@fitness/shared/kernel/page.ts';
import type { ListRow, Order } from '@fitness/shared/lists/list.ts';
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
import { type ProfileKind, type ProfileRef, profileKey, unlisted } from '../domain/profile.ts';
import type { PostTotals } from '../store/counters.ts';
import type { MovingProfile } from '../store/models/counters.ts';
import type { Profile } from '../store/profiles.ts';
import { createFetchProfiles } from './fetch-profiles.ts';
import { type PostResource, toPostResource } from './post-resource.ts';

interface PostQuery {
  /** Undefined for all kinds. */
  kinds?: readonly ProfileKind[] | undefined;
  itemIds?: readonly number[] | undefined;
  inBlog?: boolean | undefined;
  search?: string | undefined;
  order: Order;
}

/** 404 if one profile type is queried and the viewer may see none of the profiles in `itemIds`. */
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
        ? await listsOfAll(store, totals, viewer, { kinds, blog, isPaged: request.mode === 'page' })
        : await listsOfProfiles(viewer, totals, kinds, query.itemIds, blog);
    // Lists of named profiles already leave out moving ones.
    const hidden = query.itemIds === undefined ? hiddenProfiles(viewer, totals) : NOTHING_HIDDEN;
    const page = await readPage(store, lists, { ...query, versions: totals.versions, hidden }, request);
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

type Hidden = ReadonlyMap<string, MovingProfile>;

const NOTHING_HIDDEN: Hidden = new Map();

/** Profiles whose posts may be in the viewer’s facets but are not in the totals. */
const hiddenProfiles = (viewer: Caller, { moving }: PostTotals): Hidden =>
  new Map([...moving].filter(([, { gone }]) => gone || !can(viewer, 'posts.view_all')));

/** From this size on, a list read by cursor needs no exact total: none is shown, and an estimate is enough to read it. */
const ESTIMATED_FROM = 1_000;

/** The lists of a query without `itemIds`. No post is in two of them. */
const listsOfAll = async (
  store: Dependencies['store'],
  totals: PostTotals,
  viewer: Caller,
  { kinds, blog, isPaged }: { kinds: readonly ProfileKind[]; blog: BlogFilter; isPaged: boolean },
): Promise<PartOfList[]> => {
  const [only] = kinds;
  const kind = kinds.length === 1 && only !== undefined ? only : 'any';
  const scope = can(viewer, 'posts.view_all') ? 'all' : 'public';
  const count = totalKeysOf(scope, kind, blog).reduce((sum, key) => sum + totals.count(key), 0);
  const common: PartOfList = { facet: facet(scope, kind, blog), total: count, newest: totals.newest };
  if (scope === 'all' || viewer.kind === 'guest') return [common];
  const ownScope: Scope = `own:${viewer.userId}`;
  const own = facet(ownScope, kind, blog);
  const isCounted = isPaged || count < ESTIMATED_FROM;
  // A cached list includes the posts of moving profiles, which are hidden until the move ends.
  const cachedCount =
    totals.moving.size === 0 ? await store.posts.cachedCount(own, totals.versions) : undefined;
  const total = isCounted
    ? (cachedCount ?? (await store.profiles.countHidden(viewer.userId, kinds, blog)))
    : 0;
  return [common, { facet: own, total, newest: totals.newest }];
};

/** The lists of a query with `itemIds`: one for each profile that the viewer may see. */
const createListsOfProfiles = (dependencies: Pick<Dependencies, 'store' | 'gyms' | 'users'>) => {
  const { store } = dependencies;
  const seesUnknown = createSeesUnknown(dependencies);
  return async (
    viewer: Caller,
    { moving }: PostTotals,
    kinds: readonly ProfileKind[],
    itemIds: readonly number[],
    blog: BlogFilter,
  ): Promise<PartOfList[]> => {
    const refs = kinds.flatMap((kind) => itemIds.map((id): ProfileRef => ({ kind, id })));
    const stored = await store.profiles.find(refs);
    const visible = [...stored].flatMap(([key, profile]) => {
      // A profile that stopped moving after the versions were read is shown by the next request.
      const shown = moving.has(key) ? unlisted(profile.shown) : profile.shown;
      return seesProfile(viewer, shown) ? [{ ...profile, shown }] : [];
    });
    if (visible.length === 0 && kinds.length === 1) {
      const unknown = refs.filter((ref) => !stored.has(profileKey(ref)));
      if (!(await seesUnknown(viewer, unknown))) throw notFound();
    }
    return visible.map((profile) => listOf(viewer, profile, blog));
  };
};

const listOf = (viewer: Caller, { ref, shown, counts, newest }: Profile, blog: BlogFilter): PartOfList => {
  const scope = seesAllPostsOf(viewer, shown) ? 'all' : 'public';
  return {
    facet: facet(scope, profileKey(ref) as ProfileFilter, blog),
    total: countIn(counts, shown, scope, blog),
    newest,
  };
};

/** Whether the viewer may see any of these profiles, which the read model lacks. Stores the gyms that exist. */
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
  { search, order, versions, hidden }: PostQuery & Pick<PostTotals, 'versions'> & { hidden: Hidden },
  request: PageRequest,
): Promise<PageOf<Post>> => {
  const total = lists.reduce((sum, list) => sum + list.total, 0);
  const query = {
    facets: lists.map((list) => list.facet),
    // Includes the posts that are left out, because the size of a list determines how it is read.
    total: [...hidden.values()].reduce((sum, { posts }) => sum + posts, total),
    newest: Math.max(0, ...lists.map((list) => list.newest)),
    accept: hidden.size === 0 ? undefined : ({ profile_key }: ListRow) => !hidden.has(String(profile_key)),
    search,
    versions,
  };
  return readListPage((slice) => store.posts.list(query, slice), { total, search }, order, request);
};
