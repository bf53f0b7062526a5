import { describe, expect, test } from '@jest/globals';
import fc from 'fast-check';
import type { PostFlags } from './post.ts';
import {
  type BlogFilter,
  blogOf,
  countIn,
  countKey,
  facet,
  facetsOf,
  NO_POSTS,
  type ProfileFilter,
  type Scope,
  totalDeltas,
  totalKey,
  totalKeysOf,
} from './post-lists.ts';
import type { ProfileKind, ProfileRef, ProfileState } from './profile.ts';

/** Every run checks the same examples. */
const SEED = 20260115;

const flags = fc.record({ is_draft: fc.boolean(), in_blog: fc.boolean() });
const state: fc.Arbitrary<ProfileState> = fc.record({
  ownerUserId: fc.option(fc.integer({ min: 1, max: 3 })),
  isActive: fc.boolean(),
  gone: fc.boolean(),
});
const ref: fc.Arbitrary<ProfileRef> = fc.record({
  kind: fc.constantFrom<ProfileKind>('gym', 'user'),
  id: fc.integer({ min: 1, max: 3 }),
});

const BLOGS: BlogFilter[] = ['any', 'blog', 'regular'];
const isIn = (post: PostFlags, blog: BlogFilter): boolean => blog === 'any' || blogOf(post.in_blog) === blog;

describe('the lists of a post', () => {
  test('operators’ lists hold every post, public ones what everyone sees, own ones the owner’s other posts', () => {
    fc.assert(
      fc.property(flags, ref, state, (post, profile, current) => {
        const facets = new Set(facetsOf(post, profile, current));
        const shown = !post.is_draft && current.isActive && !current.gone;
        const key = `${profile.kind}:${profile.id}` as ProfileFilter;
        for (const blog of BLOGS) {
          for (const where of ['any', profile.kind, key] as ProfileFilter[]) {
            expect(facets.has(facet('all', where, blog))).toBe(!current.gone && isIn(post, blog));
            expect(facets.has(facet('public', where, blog))).toBe(shown && isIn(post, blog));
          }
          for (const owner of [1, 2, 3]) {
            const scope: Scope = `own:${owner}`;
            const own = !current.gone && !shown && current.ownerUserId === owner && isIn(post, blog);
            expect(facets.has(facet(scope, 'any', blog))).toBe(own);
            expect(facets.has(facet(scope, profile.kind, blog))).toBe(own);
          }
          const other = profile.kind === 'gym' ? 'user' : 'gym';
          expect(facets.has(facet('all', other, blog))).toBe(false);
        }
      }),
      { seed: SEED },
    );
  });
});

describe('the counters', () => {
  test('a change of a profile moves its posts from the old counters to the new ones', () => {
    fc.assert(
      fc.property(fc.array(flags, { maxLength: 20 }), ref, state, state, (posts, { kind }, before, after) => {
        const counts = { ...NO_POSTS };
        const expected: Record<string, number> = {};
        for (const post of posts) {
          counts[countKey(post)] += 1;
          const [from, to] = [totalKey(post, kind, before), totalKey(post, kind, after)];
          if (!before.gone) expected[from] = (expected[from] ?? 0) - 1;
          if (!after.gone) expected[to] = (expected[to] ?? 0) + 1;
        }
        const changed = (moves: object) =>
          Object.fromEntries(Object.entries(moves).filter(([, by]) => by !== 0));
        expect(changed(totalDeltas(counts, kind, before, after))).toEqual(changed(expected));
      }),
      { seed: SEED },
    );
  });

  test('the total of a list is the number of its posts', () => {
    fc.assert(
      fc.property(fc.array(flags, { maxLength: 20 }), ref, state, (posts, profile, current) => {
        const alive = { ...current, gone: false };
        const counts = { ...NO_POSTS };
        for (const post of posts) counts[countKey(post)] += 1;
        for (const blog of BLOGS) {
          const within = (scope: Scope, where: ProfileFilter) =>
            posts.filter((post) => facetsOf(post, profile, alive).includes(facet(scope, where, blog))).length;
          expect(countIn(counts, alive, 'all', blog)).toBe(within('all', 'any'));
          expect(countIn(counts, alive, 'public', blog)).toBe(within('public', 'any'));
          for (const scope of ['all', 'public'] as const) {
            for (const where of ['any', 'gym', 'user'] as const) {
              const keys = new Set(totalKeysOf(scope, where, blog));
              const total = posts.filter((post) => keys.has(totalKey(post, profile.kind, alive))).length;
              expect(total).toBe(within(scope, where));
            }
          }
        }
      }),
      { seed: SEED },
    );
  });
});
