/**
 * Who sees a post, and the words under which a list finds it. A post carries one word (facet) for each list that it
 * belongs to, so that every list is one equality over one index, and a list's total is a sum of a few counters.
 */
import {
  isPublicProfile,
  type ProfileKind,
  type ProfileRef,
  type ProfileState,
  profileKey,
} from './profile.ts';

export interface PostFlags {
  isDraft: boolean;
  inBlog: boolean;
}

export interface Post extends PostFlags {
  id: number;
  profile: ProfileRef;
  title: string;
  content: string;
  /** Who may edit it, as far as this service knows. */
  ownerUserId: number | null;
  /** Everyone may see it: published, on a public profile. */
  isPublic: boolean;
  /** Its profile is gone, and it is about to be deleted. */
  gone: boolean;
  createdAt: Date;
  updatedAt: Date;
  version: number;
}

export const isPublicPost = ({ isDraft }: PostFlags, profile: ProfileState): boolean =>
  !isDraft && isPublicProfile(profile);

/** `all`: operators. `public`: everyone. `own:7`: what is not public, for its owner. */
export type Scope = 'all' | 'public' | `own:${number}`;
/** Every profile, those of a kind, or one: `gym:12`. */
export type Where = 'any' | ProfileKind | `${ProfileKind}:${number}`;
export type Blog = 'any' | 'blog' | 'regular';

export const GONE_FACET = 'gone';
export const facet = (scope: Scope, where: Where, blog: Blog): string => `${scope}/${where}/${blog}`;
export const blogOf = (inBlog: boolean | undefined): Blog => {
  if (inBlog === undefined) return 'any';
  return inBlog ? 'blog' : 'regular';
};

/** The lists that a post belongs to. */
export const facetsOf = (flags: PostFlags, ref: ProfileRef, profile: ProfileState): string[] => {
  if (profile.gone) return [GONE_FACET];
  const shown = isPublicPost(flags, profile);
  const blogs: Blog[] = ['any', blogOf(flags.inBlog)];
  const wheres: Where[] = ['any', ref.kind, profileKey(ref) as Where];
  const everywhere: Scope[] = shown ? ['all', 'public'] : ['all'];
  const facets = everywhere.flatMap((scope) => wheres.map((where) => ({ scope, where })));
  if (!shown && profile.ownerUserId !== null) {
    const scope: Scope = `own:${profile.ownerUserId}`;
    facets.push({ scope, where: 'any' }, { scope, where: ref.kind });
  }
  return facets.flatMap(({ scope, where }) => blogs.map((blog) => facet(scope, where, blog)));
};

/** How many posts a profile has, by what decides who sees them. */
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

export const countKey = ({ isDraft, inBlog }: PostFlags): keyof ProfileCounts =>
  `${isDraft ? 'draft' : 'published'}_${inBlog ? 'blog' : 'regular'}`;

export const flagsOf = (key: keyof ProfileCounts): PostFlags => ({
  isDraft: key.startsWith('draft'),
  inBlog: key.endsWith('blog'),
});

/** A counter over all profiles: `gym_public_blog`. */
export type Cell = `${ProfileKind}_${'public' | 'hidden'}_${'blog' | 'regular'}`;

export const cellOf = (flags: PostFlags, kind: ProfileKind, profile: ProfileState): Cell =>
  `${kind}_${isPublicPost(flags, profile) ? 'public' : 'hidden'}_${flags.inBlog ? 'blog' : 'regular'}`;

/** How the counters over all profiles move when a profile with these posts changes from one state to another. */
export const cellMoves = (
  counts: ProfileCounts,
  kind: ProfileKind,
  before: ProfileState,
  after: ProfileState,
): Partial<Record<Cell, number>> => {
  const moves: Partial<Record<Cell, number>> = {};
  for (const key of COUNT_KEYS) {
    const flags = flagsOf(key);
    const from = before.gone ? undefined : cellOf(flags, kind, before);
    const to = after.gone ? undefined : cellOf(flags, kind, after);
    if (from === to || counts[key] === 0) continue;
    if (from !== undefined) moves[from] = (moves[from] ?? 0) - counts[key];
    if (to !== undefined) moves[to] = (moves[to] ?? 0) + counts[key];
  }
  return moves;
};

/** How many posts of a profile are in a list of `scope`; `own` counts what is not public. */
export const countIn = (
  counts: ProfileCounts,
  profile: ProfileState,
  scope: 'all' | 'public' | 'own',
  blog: Blog,
): number => {
  let total = 0;
  for (const key of COUNT_KEYS) {
    const flags = flagsOf(key);
    if (blog !== 'any' && blogOf(flags.inBlog) !== blog) continue;
    const shown = isPublicPost(flags, profile);
    if (scope === 'all' || (scope === 'public') === shown) total += counts[key];
  }
  return total;
};

/** The counters over all profiles that a list of `scope` adds up. */
export const cellsOf = (scope: 'all' | 'public', kind: ProfileKind | 'any', blog: Blog): Cell[] => {
  const kinds: ProfileKind[] = kind === 'any' ? ['gym', 'user'] : [kind];
  const sights = scope === 'all' ? (['public', 'hidden'] as const) : (['public'] as const);
  const blogs = blog === 'any' ? (['blog', 'regular'] as const) : [blog];
  return kinds.flatMap((one) => sights.flatMap((sight) => blogs.map((b): Cell => `${one}_${sight}_${b}`)));
};
