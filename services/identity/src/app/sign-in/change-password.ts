import type { UserCaller } from '@fitness/shared/kernel/caller.ts';
import type { Locale } from '@fitness/shared/kernel/i18n/translate.ts';
import type { Dependencies } from '../../dependencies.ts';
import { assertNotName } from './new-password.ts';
import { assertCurrentPassword, findOwnAccount, wrongPassword } from './own-account.ts';
import { publishCredentialsRevoked } from './publish-credentials-revoked.ts';
import type { SecurityNotices } from './security-notices.ts';

/** Revokes every other credential of the account. 422: `current_password` or `password`. 429: too many passwords. */
type ChangePassword = (
  caller: UserCaller,
  input: { currentPassword: string; password: string; clientAddress: string; locale: Locale },
) => Promise<void>;

export const createChangePassword = (
  dependencies: Dependencies & { securityNotices: SecurityNotices },
): ChangePassword => {
  const { store, passwords, securityNotices } = dependencies;
  return async (caller, { currentPassword, password, clientAddress, locale }) => {
    const user = await findOwnAccount(dependencies, caller.userId);
    await assertCurrentPassword(dependencies, user, { password: currentPassword, clientAddress });
    assertNotName(password, user);
    const passwordHash = await passwords.hash(password, clientAddress);
    await store.transaction(async (session) => {
      const updated = await store.users.setPassword(session, user._id, passwordHash, user.credential_epoch);
      // A concurrent change came first: the verified password is no longer the current one.
      if (updated === null) throw wrongPassword();
      await store.tokens.revokeOthers(session, user._id, caller.tokenId);
      // A reset code that someone else has requested must not undo the change.
      await store.codes.invalidate(session, user._id);
      const account = { userId: user._id, version: updated.version };
      await publishCredentialsRevoked(dependencies, session, account, 'password_changed');
      await securityNotices.notify(session, updated, 'password_changed', 'account');
      const sms = { notice: 'password_changed', phone: updated.phone, locale } as const;
      await securityNotices.requestSms(session, updated, sms);
    });
  };
};
