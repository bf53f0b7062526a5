import { expect, test } from '@jest/globals';
import { type Caller, GUEST, isOwn, ownerIdOf, type UserCaller } from './caller.ts';

const user: UserCaller = {
  kind: 'user',
  userId: 7,
  permissions: new Set(['posts.view']),
  tokenId: 'token-7',
  tokenKind: 'session',
};

test('a restricted or OAuth token sees its user’s resources only with the permission that covers them', () => {
  const as = (tokenKind: UserCaller['tokenKind']): Caller => ({ ...user, tokenKind });
  for (const kind of ['session', 'personal'] as const) {
    expect([isOwn(as(kind), 7), isOwn(as(kind), 7, 'gyms.update'), isOwn(as(kind), 8)]).toEqual([
      true,
      true,
      false,
    ]);
  }
  for (const kind of ['restricted', 'oauth'] as const) {
    expect([isOwn(as(kind), 7), isOwn(as(kind), 7, 'gyms.update')]).toEqual([false, false]);
    expect([isOwn(as(kind), 7, 'posts.view'), isOwn(as(kind), 8, 'posts.view')]).toEqual([true, false]);
    expect(ownerIdOf(as(kind), 'posts.view')).toBe(7);
  }
  expect([isOwn(GUEST, undefined), isOwn(GUEST, null), isOwn(as('session'), undefined)]).toEqual([
    false,
    false,
    false,
  ]);
});
