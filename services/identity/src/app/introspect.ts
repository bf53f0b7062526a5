/** Resolves a token to its user and permissions. Nothing is cached: revocations and role changes apply at once. */
import type { CallerTokenKind } from '@fitness/shared/kernel/caller.ts';
import { unauthenticated } from '@fitness/shared/kernel/error.ts';
import type { Permission } from '@fitness/shared/kernel/permissions.ts';
import type { Dependencies } from '../dependencies.ts';
import { effectivePermissions, permissionsOf } from '../domain/roles.ts';
import { callerKindOf, hashToken, isWellFormedToken } from '../domain/token.ts';

interface Introspection {
  userId: number;
  permissions: Permission[];
  tokenId: string;
  tokenKind: CallerTokenKind;
}

/** 401 for a token that is malformed, unknown, expired or revoked. */
export type Introspect = (token: string) => Promise<Introspection>;

export const createIntrospect =
  ({ store, clock }: Pick<Dependencies, 'store' | 'clock'>): Introspect =>
  async (token) => {
    if (!isWellFormedToken(token)) throw unauthenticated();
    const credential = await store.tokens.findLive(hashToken(token), clock.now());
    if (credential === null) throw unauthenticated();
    const user = await store.users.find(credential.user_id);
    if (user === null) throw unauthenticated();
    const held = permissionsOf(await store.roles.findMany(user.role_ids));
    return {
      userId: user._id,
      permissions: effectivePermissions(credential, held),
      tokenId: credential._id,
      tokenKind: callerKindOf(credential),
    };
  };
