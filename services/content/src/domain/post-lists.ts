/**
 * The lists that a post belongs to, and their totals. A post stores one word (facet) for each of its lists. Each list is
 * then one equality match on one index, and a total is a sum of a few counters (docs/adr/0101).
 */
import { isPublicPost, type PostFlags } from './post.ts';
import { type ProfileKind, type ProfileRef, type ProfileState, profileKey } from './profile.ts';

/** `all`: for operators. `public`: for everyone. `own:7`: the non-public posts of user 7. */
export type Scope = 'all' | 'public' | `own:${number}`;
/** Posts of every profile, of all profiles of one kind, or of one profile such as `gym:12`. */
export type ProfileFilter = 'any' | ProfileKind | `${ProfileKind}:${number}`;
/** All posts, only blog posts, or only regular posts. */
export type BlogFilter = 'any' | 'blog' | 'regular';

/** The only facet of a post whose profile is gone. */
export const GONE_FACET = 'gone';
export const facet = (scope: Scope, profileFilter: ProfileFilter, blog: BlogFilter): string =>
  `${scope}/${profileFilter}/${blog}`;
export const blogOf = (inBlog: boolean | undefined): BlogFilter => {
  if (inBlog === undefined) return 'any';
  return inBlog ? 'blog' : 'regular';
};

export const facetsOf = (flags: PostFlags, ref: ProfileRef, profile: ProfileState): string[] => {
  if (profile.gone) return [GONE_FACET];
  const isPublic = isPublicPost(flags, profile);
  const blogs: BlogFilter[] = ['any', blogOf(flags.in_blog)];
  const profileFilters: ProfileFilter[] = ['any', ref.kind, profileKey(ref) as ProfileFilter];
  const scopes: Scope[] = isPublic ? ['all', 'public'] : ['all'];
  const facets = scopes.flatMap((scope) => profileFilters.map((profileFilter) => ({ scope, profileFilter })));
  if (!isPublic && profile.ownerUserId !== null) {
    const scope: Scope = `own:${profile.ownerUserId}`;
    facets.push({ scope, profileFilter: 'any' }, { scope, profileFilter: ref.kind });
  }
  return facets.flatMap(({ scope, profileFilter }) => blogs.map((blog) => facet(scope, profileFilter, blog)));
};

/** The number of posts of a profile, by the flags that decide who sees them. */
export interface ProfileCounts {
  published_blog: number;
  published_regular: number;
  draft_blog: number;
  draft_regular: number;
}

export const NO_POSTS: Readonly<ProfileCounts> = {
  published_blog: 0,
  published_regular: 0,
  draft_blog: 0,
  draft_regular: 0,
};

export const COUNT_KEYS = Object.keys(NO_POSTS) as (keyof ProfileCounts)[];

/** The counter of a profile that includes a post with these flags. */
export const countKey = ({ is_draft, in_blog }: PostFlags): keyof ProfileCounts =>
  `${is_draft ? 'draft' : 'published'}_${in_blog ? 'blog' : 'regular'}`;

export const flagsOf = (key: keyof ProfileCounts): PostFlags => ({
  is_draft: key.startsWith('draft'),
  in_blog: key.endsWith('blog'),
});

/** The name of a counter over all profiles, such as `gym_public_blog`. */
export type TotalKey = `${ProfileKind}_${'public' | 'hidden'}_${'blog' | 'regular'}`;

/** The counter over all profiles that includes a post with these flags. */
export const totalKey = (
  flags: PostFlags,
  kind: ProfileKind,
  profile: Pick<ProfileState, 'isActive' | 'gone'>,
): TotalKey =>
  `${kind}_${isPublicPost(flags, profile) ? 'public' : 'hidden'}_${flags.in_blog ? 'blog' : 'regular'}`;

/** The change of the counters over all profiles when a profile with these posts goes from `before` to `after`. */
export const totalDeltas = (
  counts: ProfileCounts,
  kind: ProfileKind,
  before: ProfileState,
  after: ProfileState,
): Partial<Record<TotalKey, number>> => {
  const deltas: Partial<Record<TotalKey, number>> = {};
  for (const key of COUNT_KEYS) {
    const flags = flagsOf(key);
    const from = before.gone ? undefined : totalKey(flags, kind, before);
    const to = after.gone ? undefined : totalKey(flags, kind, after);
    if (from === to || counts[key] === 0) continue;
    if (from !== undefined) deltas[from] = (deltas[from] ?? 0) - counts[key];
    if (to !== undefined) deltas[to] = (deltas[to] ?? 0) + counts[key];
  }
  return deltas;
};

/** The number of posts of a profile in a list of `scope`. */
export const countIn = (
  counts: ProfileCounts,
  profile: ProfileState,
  scope: 'all' | 'public',
  blog: BlogFilter,
): number => {
  let total = 0;
  for (const key of COUNT_KEYS) {
    const flags = flagsOf(key);
    if (blog !== 'any' && blogOf(flags.in_blog) !== blog) continue;
    if (scope === 'all' || isPublicPost(flags, profile)) total += counts[key];
  }
  return total;
};

/** The counters over all profiles whose sum is the total of a list of `scope`. */
export const totalKeysOf = (
  scope: 'all' | 'public',
  kind: ProfileKind | 'any',
  blog: BlogFilter,
): TotalKey[] => {
  const kinds: ProfileKind[] = kind === 'any' ? ['gym', 'user'] : [kind];
  const visibilities = scope === 'all' ? (['public', 'hidden'] as const) : (['public'] as const);
  const blogs = blog === 'any' ? (['blog', 'regular'] as const) : [blog];
  return kinds.flatMap((one) =>
    visibilities.flatMap((visibility) => blogs.map((b): TotalKey => `${one}_${visibility}_${b}`)),
  );
};
