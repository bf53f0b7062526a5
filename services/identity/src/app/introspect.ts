/** Who presents a token, as of now. Nothing here is cached, so a revocation or a change of roles holds at once. */

import type { Clock } from '@fitness/shared/clock.ts';
import { unauthenticated } from '@fitness/shared/error.ts';
import type { Permission } from '@fitness/shared/permissions.ts';
import { carriedBy, permissionsOf } from '../domain/roles.ts';
import { hashToken, isWellFormedToken, type TokenKind } from '../domain/token.ts';
import type { RoleStore } from '../store/roles.ts';
import type { TokenStore } from '../store/tokens.ts';
import type { UserStore } from '../store/users.ts';

export interface IntrospectParts {
  users: UserStore;
  tokens: TokenStore;
  roles: RoleStore;
  clock: Clock;
}

interface Presenter {
  userId: number;
  permissions: Permission[];
  tokenId: string;
  tokenKind: TokenKind;
}

/** Throws `unauthenticated` for a token that is malformed, unknown, expired or revoked. */
export type Introspect = (token: string) => Promise<Presenter>;

export const createIntrospect =
  ({ users, tokens, roles, clock }: IntrospectParts): Introspect =>
  async (token) => {
    if (!isWellFormedToken(token)) throw unauthenticated();
    const credential = await tokens.findLive(hashToken(token), clock.now());
    if (credential === null) throw unauthenticated();
    const user = await users.findById(credential.user_id);
    if (user === null) throw unauthenticated();
    const held = permissionsOf(await roles.findByIds(user.role_ids));
    return {
      userId: user._id,
      permissions: carriedBy(credential, held),
      tokenId: credential._id,
      tokenKind: credential.kind,
    };
  };
