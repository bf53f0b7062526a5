/** Sends one stored notification to one device, or as one email. */
import { MANDATORY_EMAILS, type NotificationType } from '@fitness/contracts/notifications.ts';
import type { EventData } from '@fitness/proto/events/define-event.ts';
import type {
  notificationEmailRequested,
  notificationPushRequested,
} from '@fitness/proto/events/identity.ts';
import { DEFAULT_LOCALE, translate, translator } from '@fitness/shared/kernel/i18n/translate.ts';
import { TryAgainLater } from '@fitness/shared/kernel/outage.ts';
import type { ClientSession } from '@fitness/shared/mongo/connect.ts';
import { html } from '@fitness/shared/pages/html.ts';
import type { Dependencies } from '../../dependencies.ts';
import type { EmailBudget, EmailKind } from './email-budget.ts';
import { type Channel, isWanted } from './notification-preferences.ts';
import { toEmailTexts, toNotification } from './notification-resource.ts';

interface SendDependencies extends Dependencies {
  emailBudget: EmailBudget;
}

/** Rejects if the message was not sent and is still due, so that the event is retried. */
type SendPush = (
  session: ClientSession,
  request: EventData<typeof notificationPushRequested>,
) => Promise<void>;

/**
 * Rejects if the email was not sent and is still due, so that the event is retried. An email beyond the budget is not
 * sent. `eventId`: a UUID for the Message-ID, by which a relay or mailbox may recognize a repetition.
 */
type SendEmail = (eventId: string, request: EventData<typeof notificationEmailRequested>) => Promise<void>;

/** Undefined when the account or the notification was erased, or the channel was switched off. */
const findDue = async (
  { store }: SendDependencies,
  { user_id: userId, notification_id: id }: { user_id: number; notification_id: number },
  channel: Channel,
) => {
  const [user, row, preferences] = await Promise.all([
    store.users.find(userId),
    store.notifications.find(userId, id),
    store.preferences.find(userId),
  ]);
  if (user === null || row === null) return undefined;
  return isWanted(preferences, row.type, channel) ? { user, row, preferences } : undefined;
};

const createSendPush = (dependencies: SendDependencies): SendPush => {
  const { store, clock, log, pushes, sentNotifications } = dependencies;
  return async (session, request) => {
    const device = await store.devices.get(request.device_id);
    const isSignedIn =
      device?.user_id === request.user_id &&
      (await store.tokens.findLive(device.session, clock.now())) !== null;
    const due = isSignedIn ? await findDue(dependencies, request, 'push') : undefined;
    if (pushes === undefined || device === null || due === undefined) {
      sentNotifications.inc({ channel: 'push', outcome: 'skipped' });
      return;
    }
    const { id, type, title, body } = toNotification(due.row, translator(device.locale));
    const result = await pushes.send({
      token: device.push_token,
      title,
      body,
      data: { notification_id: String(id), type },
      tag: `notification-${id}`,
    });
    sentNotifications.inc({ channel: 'push', outcome: result.outcome });
    if (result.outcome === 'failed')
      throw new TryAgainLater(`a push message was not sent: ${result.reason}`, result.retryAfterMs ?? 0);
    if (result.outcome === 'refused') {
      log.error(
        { user_id: request.user_id, notification_id: id },
        'Firebase has refused a push message permanently',
      );
    }
    if (result.outcome === 'gone') await store.devices.deleteGone(session, device);
  };
};

const kindOf = (type: NotificationType, previousEmail: string | null): EmailKind => {
  if (previousEmail !== null) return 'address_change';
  return MANDATORY_EMAILS.includes(type) ? 'security' : 'ordinary';
};

const createSendEmail = (dependencies: SendDependencies): SendEmail => {
  const { store, clock, log, mails, sentNotifications, emailBudget } = dependencies;
  return async (eventId, request) => {
    const due = await findDue(dependencies, request, 'email');
    if (mails === undefined || due === undefined) {
      sentNotifications.inc({ channel: 'email', outcome: 'skipped' });
      return;
    }
    const { user, row, preferences } = due;
    const to = request.email ?? user.email;
    const kind = kindOf(row.type, request.email);
    const budget = await emailBudget.take(kind, user._id, to);
    if (budget.spent !== undefined) {
      sentNotifications.inc({ channel: 'email', outcome: 'limited' });
      log.warn(
        { user_id: user._id, notification_id: row._id, limit: budget.spent },
        'an email was not sent, because the daily budget is spent',
      );
      return;
    }
    const locale =
      preferences.locale ?? (await store.devices.localeOf(user._id, clock.now())) ?? DEFAULT_LOCALE;
    const { title, body } = toEmailTexts(row, translator(locale));
    const footer = translate(locale, 'notification.email.footer');
    const result = await mails.send({
      to,
      subject: title,
      text: `${body}\n\n-- \n${footer}\n`,
      html: html`<!doctype html>
<html lang="${locale}" dir="${translate(locale, 'language.direction')}">
<head><meta charset="utf-8"><title>${title}</title></head>
<body><h1>${title}</h1><p>${body}</p><hr><p><small>${footer}</small></p></body>
</html>`.toString(),
      id: `notification-${eventId}`,
    });
    sentNotifications.inc({ channel: 'email', outcome: result.outcome });
    if (result.outcome !== 'failed') return;
    await budget.giveBack();
    throw new Error(`an email was not sent: ${result.reason}`);
  };
};

export const createSendNotification = (dependencies: SendDependencies) => ({
  sendPush: createSendPush(dependencies),
  sendEmail: createSendEmail(dependencies),
});
