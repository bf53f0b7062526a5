/** Erasing an account: personal data is deleted, an anonymous document stays, and events are published. */
import type { ClientSession } from '@fitness/shared/mongo/connect.ts';
import type { Dependencies } from '../dependencies.ts';
import { publishAccountDeleted, publishCredentialsRevoked } from './publish.ts';

type EraseAccountDependencies = Pick<Dependencies, 'store' | 'idempotency' | 'outbox' | 'audit' | 'clock'>;

/**
 * In the transaction of `session`. With `dueOn`, only while a deletion is pending for that date. False, and nothing is
 * written, when there is no such live account.
 */
export type EraseAccount = (session: ClientSession, userId: number, dueOn?: Date) => Promise<boolean>;

export const createEraseAccount = (dependencies: EraseAccountDependencies): EraseAccount => {
  const { store, idempotency, audit, clock } = dependencies;
  return async (session, userId, dueOn) => {
    const now = clock.now();
    // First, because every transaction that stores data about the account writes this document, too: they conflict.
    const version = await store.users.erase(session, userId, now, dueOn);
    if (version === null) return false;
    await store.tokens.revokeAll(session, userId);
    await store.secondFactors.delete(session, userId);
    await store.codes.eraseAccount(session, userId);
    await store.notifications.eraseAccount(session, userId);
    await store.preferences.eraseAccount(session, userId);
    await store.scores.eraseAccount(session, userId);
    await idempotency.eraseAccount(session, userId);
    await audit.eraseAccount(session, userId);
    const account = { userId, version };
    await publishCredentialsRevoked(dependencies, session, account, 'account_erased');
    await publishAccountDeleted(dependencies, session, account, now);
    return true;
  };
};
