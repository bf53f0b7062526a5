import { gymChanged } from '@fitness/proto/events/gyms.ts';
import { GUEST } from '@fitness/shared/kernel/caller.ts';
import { LIST_CACHE_MIB } from '@fitness/shared/kernel/config.ts';
import { caller, eventually, type Send } from '@fitness/shared/testing/harness.ts';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { type Harness, openHarness } from './support.ts';

const USER = 'App\\Models\\User';
const GYM = 'App\\Models\\Gym';
type Type = typeof USER | typeof GYM;

interface Written {
  id: number;
  type: Type;
  profile: number;
  owner: number;
  isDraft: boolean;
  inBlog: boolean;
  title: string;
}

/** Owners by gym id. Gyms and users share ids. The second gym becomes inactive after its posts are written. */
const OWNERS = new Map([
  [1, 1],
  [2, 1],
  [3, 2],
]);
const CLOSED = 2;
const USERS = [1, 2];
const OPERATOR = 9;

let harness: Harness;
let processes: [name: string, send: Send][];
let posts: Written[] = [];

const write = async (type: Type, profile: number, owner: number): Promise<void> => {
  for (const isDraft of [false, true])
    for (const inBlog of [false, true])
      for (const title of ['Morning run', 'Evening yoga']) {
        const body = {
          profile_type: type,
          profile_id: profile,
          title,
          content: '-',
          is_draft: isDraft,
          in_blog: inBlog,
        };
        // Half of the posts get their values from an update.
        const isChanged = (posts.length + Number(inBlog)) % 2 === 0;
        const other = { ...body, title: 'Other', is_draft: !isDraft, in_blog: !inBlog };
        const as = caller(owner);
        const answer = await harness.send('POST', '/posts', { as, body: isChanged ? other : body });
        expect(answer.status).toBe(201);
        if (isChanged) {
          const path = `/posts/${answer.body.data.id}`;
          for (const change of [{ title }, { is_draft: isDraft, in_blog: inBlog }])
            expect((await harness.send('PUT', path, { as, body: change })).status).toBe(200);
        }
        posts.push({ id: answer.body.data.id, type, profile, owner, isDraft, inBlog, title });
      }
};

const isPublic = ({ type, profile, isDraft }: Written): boolean =>
  !isDraft && !(type === GYM && profile === CLOSED);

interface Query {
  types: Type[] | undefined;
  items: number[] | undefined;
  inBlog: boolean | undefined;
  search: string | undefined;
  order: 'ASC' | 'DESC';
}

const queries = [undefined, [GYM], [USER], [GYM, USER]].flatMap((types) =>
  [undefined, [1], [CLOSED], [CLOSED, 3]].flatMap((items) =>
    [undefined, true, false].flatMap((inBlog) =>
      [undefined, 'YOGA'].flatMap((search) =>
        (['ASC', 'DESC'] as const).map(
          (order): Query => ({ types: types as Type[] | undefined, items, inBlog, search, order }),
        ),
      ),
    ),
  ),
);

const pathOf = ({ types, items, inBlog, search, order }: Query): string => {
  const params = { type: types?.join(), item_id: items?.join(), in_blog: inBlog, search, order };
  const pairs = Object.entries(params).flatMap(([name, value]): [string, string][] =>
    value === undefined ? [] : [[name, String(value)]],
  );
  return `/posts?${new URLSearchParams(pairs)}`;
};

const matches = ({ types, items, inBlog, search }: Query, post: Written): boolean =>
  (types === undefined || types.includes(post.type)) &&
  (items === undefined || items.includes(post.profile)) &&
  (inBlog === undefined || post.inBlog === inBlog) &&
  (search === undefined || post.title.toLowerCase().includes(search.toLowerCase()));

/** Whether the response is 404: one type, and the viewer may see no profile with one of these ids. */
const isMissing = ({ types, items }: Query, viewer: number | undefined): boolean => {
  if (types?.length !== 1 || items === undefined) return false;
  if (types[0] === USER) return false;
  const seesClosed = viewer === OPERATOR || viewer === OWNERS.get(CLOSED);
  return items.every((id) => id === CLOSED && !seesClosed);
};

const VIEWERS: [string, number | undefined][] = [
  ['a guest', undefined],
  ['an owner of two gyms', 1],
  ['the owner of another gym', 2],
  ['another user', 3],
  ['a holder of posts.view_all', OPERATOR],
];

/**
 * Combinations of viewer and query of the posts, compared with the visibility rule applied to each post, in a process with a
 * cache of lists and in one without. Each viewer sends one of `every` queries, and each viewer others.
 */
export const testListModel = ({ every }: { every: number }): void => {
  beforeAll(async () => {
    posts = [];
    harness = await openHarness({ listCacheMib: 0 });
    processes = [
      ['without a cache', harness.send],
      ['with a cache', (await harness.replica({}, LIST_CACHE_MIB)).send],
    ];
    for (const [id, owner] of OWNERS) {
      harness.standIns.gyms.set(id, { user_id: owner, is_active: true, version: 1 });
      await write(GYM, id, owner);
    }
    for (const id of USERS) await write(USER, id, id);
    const owner = OWNERS.get(CLOSED) ?? 0;
    harness.standIns.gyms.set(CLOSED, { user_id: owner, is_active: false, version: 2 });
    const data = { gym_id: CLOSED, name: 'Gym', user_id: owner, is_active: false };
    await harness.publish(gymChanged, { subject: CLOSED, version: 2, data });
    await eventually(async () => {
      const { meta } = (await harness.send('GET', '/posts?per_page=1')).body;
      return meta.total === posts.filter((post) => isPublic(post)).length;
    });
  });
  afterAll(() => harness.close());

  test.each(VIEWERS)(
    '%s sees what the rule allows, with the right total, for every query',
    async (name, viewer) => {
      const isOperator = viewer === OPERATOR;
      const as =
        viewer === undefined ? GUEST : isOperator ? caller(viewer, ['posts.view_all']) : caller(viewer);
      const offset = VIEWERS.findIndex(([one]) => one === name);
      const chosen = queries.filter((_, index) => index % every === offset % every);
      for (const [index, query] of chosen.entries())
        for (const [process, send] of processes) {
          const path = pathOf(query);
          const where = [process, path];
          const first = await send('GET', `${path}&per_page=100`, { as });
          if (isMissing(query, viewer)) {
            expect([where, first.status]).toEqual([where, 404]);
            continue;
          }
          const expected = posts
            .filter((post) => matches(query, post) && (isPublic(post) || isOperator || post.owner === viewer))
            .map(({ id }) => id)
            .toSorted((a, b) => (query.order === 'ASC' ? a - b : b - a));
          const idsOf = ({ body }: typeof first): number[] => body.data.map(({ id }: { id: number }) => id);
          expect([where, first.body.meta.total, idsOf(first)]).toEqual([where, expected.length, expected]);
          const middle = first.body.data.length >> 1;
          // Every seventh query is read in parts, too, which covers every filter.
          if (middle === 0 || index % 7 !== 0) continue;
          const half = await send('GET', `${path}&per_page=${middle}`, { as });
          const rest = await send('GET', `${path}&per_page=100&cursor=${half.body.meta.next_cursor}`, { as });
          const second = await send('GET', `${path}&per_page=${middle}&page=2`, { as });
          expect([where, ...idsOf(half), ...idsOf(rest)]).toEqual([where, ...expected]);
          expect([where, ...idsOf(second)]).toEqual([where, ...expected.slice(middle, middle * 2)]);
        }
    },
  );
};
