/** The notification resource. Its texts are rendered in the reader's language when it is read. */
import { NOTIFICATION_DATA, NOTIFICATION_TYPES } from '@fitness/contracts/notifications.ts';
import { timestampSchema } from '@fitness/contracts/timestamp.ts';
import { formatTimestamp, formatTimestampOrNull } from '@fitness/shared/kernel/clock.ts';
import { message } from '@fitness/shared/kernel/error.ts';
import { CATALOGUES, type MessageKey } from '@fitness/shared/kernel/i18n/catalogue.ts';
import { DEFAULT_LOCALE, type Translate } from '@fitness/shared/kernel/i18n/translate.ts';
import { z } from 'zod';
import type { NotificationRow } from '../../store/notifications.ts';

/** The subject of a `security_alert`: `change` in its data. */
export type SecurityChange =
  | 'password_changed'
  | 'password_reset'
  | 'email_changed'
  | 'phone_changed'
  | 'bank_account_changed'
  | 'username_changed'
  /** Caused only by operators. */
  | 'roles_changed'
  | 'codes_locked'
  | 'second_factor_armed'
  | 'second_factor_removed'
  | 'second_factor_locked'
  | 'recovery_code_used'
  | 'token_created'
  | 'app_connected';

export const notificationSchema = z
  .object({
    id: z.int(),
    type: z
      .enum(NOTIFICATION_TYPES)
      .meta({ description: 'What the notification is about. It determines the fields of `data`.' }),
    title: z.string().meta({ description: 'Title, in the language of the request' }),
    body: z.string().meta({ description: 'Text, in the language of the request' }),
    data: z.record(z.string(), z.unknown()).meta({ description: NOTIFICATION_DATA }),
    read_at: timestampSchema
      .nullable()
      .meta({ description: 'When the notification was marked as read; null until then' }),
    created_at: timestampSchema,
  })
  .meta({ id: 'Notification', description: 'A notification, with its texts in the language of the request' });

type NotificationResource = z.output<typeof notificationSchema>;

interface TextKeys {
  title: MessageKey;
  body: MessageKey;
}

/** Data of a review after an operator has removed the document. */
export const REMOVED_LICENSE = { approved: null, reason: '', removed: true } as const;

const outcomeOf = ({ approved, removed }: Record<string, unknown>): string => {
  if (removed === true) return 'removed';
  if (approved === null) return 'pending';
  return approved === true ? 'approved' : 'rejected';
};

/** Reviews and refunds have a text for each outcome, security alerts for each change. Other types have one text. */
const textKeys = ({ type, data }: NotificationRow): TextKeys => {
  const textsFor = (outcome: unknown): TextKeys => ({
    title: `notification.${type}.${outcome}.title` as MessageKey,
    body: `notification.${type}.${outcome}.body` as MessageKey,
  });
  if (type === 'gym_license_reviewed' || type === 'trainer_license_reviewed')
    return textsFor(outcomeOf(data));
  if (type === 'refund_resolved') return textsFor(data.outcome);
  if (type !== 'security_alert')
    return { title: `notification.${type}.title`, body: `notification.${type}.body` };
  const texts = textsFor(data.change);
  return data.by === 'operator' ? { ...texts, body: 'notification.security_alert.by_operator.body' } : texts;
};

const hasText = (key: string): key is MessageKey => Object.hasOwn(CATALOGUES.get(DEFAULT_LOCALE) ?? {}, key);

/** A replica of a newer release may have stored a type, an outcome or a change that has no text here. */
const shownKeys = (row: NotificationRow): TextKeys => {
  const keys = textKeys(row);
  return hasText(keys.title)
    ? keys
    : { title: 'notification.unknown.title', body: 'notification.unknown.body' };
};

const textParams = (data: Record<string, unknown>): Record<string, string | number> => {
  const simple = Object.entries(data).filter((entry): entry is [string, string | number] =>
    ['string', 'number'].includes(typeof entry[1]),
  );
  return { reason: '', ...Object.fromEntries(simple) };
};

/** The only parameters in emails. Addresses are not verified, so a stranger must not read text that users chose. */
export const EMAIL_PARAMS: readonly string[] = ['amount', 'deletion_scheduled_at', 'expires_at'];

/** A text with parameters that users may have chosen has a variant for emails, which refers to the app. */
const emailKey = (body: MessageKey): MessageKey => {
  const key = body.replace(/\.body$/, '.email');
  return hasText(key) ? key : body;
};

export const toEmailTexts = (row: NotificationRow, t: Translate): { title: string; body: string } => {
  const { title, body } = shownKeys(row);
  const all = Object.entries(textParams(row.data));
  const params = Object.fromEntries(all.filter(([name]) => EMAIL_PARAMS.includes(name)));
  return {
    title: t(message(title)),
    body: t(message(emailKey(body), params)),
  };
};

export const toNotification = (row: NotificationRow, t: Translate): NotificationResource => {
  const keys = shownKeys(row);
  const params = textParams(row.data);
  return {
    id: row._id,
    type: row.type,
    title: t(message(keys.title, params)),
    body: t(message(keys.body, params)).trim(),
    data: row.data,
    read_at: formatTimestampOrNull(row.read_at),
    created_at: formatTimestamp(row.created_at),
  };
};
