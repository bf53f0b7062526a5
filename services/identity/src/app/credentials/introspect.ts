/** Resolves a token to its user and permissions from the database. docs/adr/0002 says what the gateway may cache. */
import type { CallerTokenKind, SessionPage } from '@fitness/shared/kernel/caller.ts';
import { MINUTE_MS } from '@fitness/shared/kernel/clock.ts';
import { unauthenticated } from '@fitness/shared/kernel/error.ts';
import type { Permission } from '@fitness/shared/kernel/permissions.ts';
import { LRUCache } from 'lru-cache';
import type { Dependencies } from '../../dependencies.ts';
import { effectivePermissions, grantablePermissions } from '../../domain/roles.ts';
import { callerKindOf, grantKey, hashToken, isWellFormedToken } from '../../domain/token.ts';
import type { Token } from '../../store/tokens.ts';
import type { UsablePermissions } from './usable-permissions.ts';

interface Introspection {
  userId: number;
  permissions: Permission[];
  /** Permissions that the token would also have if its user had a second factor. */
  withheld: Permission[];
  /** For an OAuth token: the scopes that it lacks and its user could grant to the app. */
  grantable: Permission[];
  /** For staff: whether they have a second factor, which every session of theirs has then passed. */
  hasSecondFactor: boolean;
  tokenId: string;
  tokenKind: CallerTokenKind;
  /** How long from now the token is valid, unless it is revoked. */
  validForMs: number;
  /** Identifies the store in which this process advances the epochs. Undefined while unknown. */
  epochStoreId: string | undefined;
  /** For an OAuth token: the resource that it is for. */
  audience: string | undefined;
  /** For the session of a page: the page. */
  page: SessionPage | undefined;
}

/** Throws 401 for a token that is malformed, unknown, expired or revoked. */
export type Introspect = (token: string) => Promise<Introspection>;

export const createIntrospect = (
  dependencies: Dependencies & { usablePermissions: UsablePermissions },
): Introspect => {
  const { store, epochStore, clock, usablePermissions } = dependencies;
  const markUsed = createMarkUsed(dependencies);
  return async (token) => {
    if (!isWellFormedToken(token)) throw unauthenticated();
    const now = clock.now();
    const credential = await store.tokens.findLive(hashToken(token), now);
    if (credential === null) throw unauthenticated();
    const user = await store.users.find(credential.user_id);
    if (user === null) throw unauthenticated();
    const { usable, withheld, hasSecondFactor } = await usablePermissions(user);
    markUsed(credential);
    return {
      userId: user._id,
      permissions: effectivePermissions(credential, usable),
      withheld: effectivePermissions(credential, withheld),
      grantable: grantablePermissions(credential, usable),
      hasSecondFactor,
      tokenId: credential._id,
      tokenKind: callerKindOf(credential),
      validForMs: credential.expires_at.getTime() - now.getTime(),
      epochStoreId: epochStore.storeId(),
      audience: credential.audience ?? undefined,
      page: credential.page ?? undefined,
    };
  };
};

const REMEMBERED_USES = 10_000;

/** Records the use of a session or an app's token once a minute over all replicas. No request waits for it. */
const createMarkUsed = ({
  store,
  clock,
  backgroundTasks,
}: Pick<Dependencies, 'store' | 'clock' | 'backgroundTasks'>) => {
  /** When this process last recorded each use, because a credential may have been read before that. */
  const written = new LRUCache<string, Date>({ max: REMEMBERED_USES });
  return ({ _id: hash, kind, grant_id: grantId, last_used_at: lastUsedAt }: Token): void => {
    const now = clock.now();
    const before = new Date(now.getTime() - MINUTE_MS);
    const isOld = (use: Date | undefined): boolean => use === undefined || use <= before;
    if (kind === 'personal' || lastUsedAt == null || !isOld(lastUsedAt) || !isOld(written.get(hash))) return;
    written.set(hash, now);
    backgroundTasks.run('use of a token', async () => {
      try {
        await store.tokens.markUsed(hash, now, before);
        if (grantId != null) await store.oauth.markGrantUsed(grantKey(grantId), now, before);
      } catch (error) {
        written.delete(hash);
        throw error;
      }
    });
  };
};
