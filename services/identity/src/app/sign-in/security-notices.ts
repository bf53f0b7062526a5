/** Notifies the owner of an account of changes to its security, including those by operators. */
import { securitySmsRequested } from '@fitness/proto/events/identity.ts';
import type { Locale } from '@fitness/shared/kernel/i18n/translate.ts';
import type { ClientSession } from '@fitness/shared/mongo/connect.ts';
import type { Dependencies } from '../../dependencies.ts';
import type { DeletionSchedule } from '../../domain/deletion.ts';
import { emailKey } from '../../domain/login.ts';
import type { User } from '../../domain/user.ts';
import type { DeliverNotification } from '../notifications/deliver-notification.ts';
import type { SecurityChange } from '../notifications/notification-resource.ts';

type SmsNotice =
  | { notice: 'password_changed' | 'password_reset' | 'phone_changed' }
  | { notice: 'deletion_scheduled'; schedule: DeletionSchedule };

/** Runs in the transaction of the change. `account`: the account after the change. */
export interface SecurityNotices {
  notify(
    session: ClientSession,
    account: Pick<User, '_id'>,
    change: SecurityChange,
    by: 'account' | 'operator',
    /** The address before the change, to which `email_changed` is sent. */
    previousEmail?: string,
  ): Promise<void>;
  /** Does nothing if this SMS notice is off. `phone`: the owner's phone, or the previous one if it was changed. */
  requestSms(
    session: ClientSession,
    account: Pick<User, '_id' | 'version'>,
    sms: SmsNotice & { phone: string; locale: Locale },
  ): Promise<void>;
}

export const createSecurityNotices = ({
  deliverNotification,
  outbox,
  clock,
  securitySms,
}: Dependencies & { deliverNotification: DeliverNotification }): SecurityNotices => ({
  notify: (session, { _id: userId }, change, by, previousEmail) =>
    deliverNotification(session, {
      userId,
      type: 'security_alert',
      data: { change, by },
      at: clock.now(),
      email: change === 'email_changed' ? previousEmail : undefined,
    }),

  requestSms: async (session, { _id: userId, version }, { phone, locale, ...sms }) => {
    if (securitySms !== 'all' && securitySms !== sms.notice) return;
    await outbox.publish(session, securitySmsRequested, {
      subject: userId,
      aggregateVersion: version,
      data: {
        user_id: userId,
        phone,
        locale,
        notice: sms.notice,
        deletion_scheduled_at:
          sms.notice === 'deletion_scheduled' ? sms.schedule.deletion_scheduled_at : null,
      },
    });
  },
});

/** The security changes in an update of the profile. Another spelling of the same email is not a change. */
export const securityChanges = (before: User, after: User): SecurityChange[] => [
  // Owners who do not know their new username cannot sign in with it.
  ...(before.username === after.username ? [] : (['username_changed'] as const)),
  ...(emailKey(before.email) === emailKey(after.email) ? [] : (['email_changed'] as const)),
  ...(before.phone === after.phone ? [] : (['phone_changed'] as const)),
  ...(before.bank_account_number === after.bank_account_number ? [] : (['bank_account_changed'] as const)),
];
