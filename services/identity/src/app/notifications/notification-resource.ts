/** The notification resource. Its texts are rendered in the reader's language when it is read. */
import { timestampSchema } from '@fitness/contracts/timestamp.ts';
import { formatTimestamp, formatTimestampOrNull } from '@fitness/shared/kernel/clock.ts';
import { message } from '@fitness/shared/kernel/error.ts';
import type { Catalogue, MessageKey } from '@fitness/shared/kernel/i18n/catalogue.ts';
import { CATALOGUES, DEFAULT_LOCALE, type Translate } from '@fitness/shared/kernel/i18n/translate.ts';
import { z } from 'zod';
import type { NotificationRow } from '../../store/notifications.ts';

const DATA_DESCRIPTION = [
  'Fields by `type`. Amounts are in Tooman, times in UTC.',
  '',
  '- `account_deletion_requested`: `deletion_requested_at`, `deletion_scheduled_at`.',
  '- `account_deletion_postponed`: `deletion_scheduled_at`, `blockers`.',
  '- `gym_license_reviewed`: `gym_id`, `gym_name`, `approved`, `reason`. `approved` is null when an operator has reset the review or removed the document (`removed` is true).',
  '- `trainer_license_reviewed`: `approved`, `reason`. `approved` is null in the same cases.',
  '- `deposit_credited`, `deposit_returned`, `withdrawal_paid`: `payment_id`, `amount`.',
  '- `withdrawal_rejected`: `payment_id`, `amount`, `reason`.',
  '- `refund_resolved`: `refund_id`, `outcome` (`refunded` or `granted`), `channel`, `product_id`.',
  '- `training_service_sold`: `trainee_id`, `training_service_id`, `title`, `amount`, `commission`.',
  '- `training_service_delivered`: `trainee_id`, `training_service_id`, `title`.',
  '- `subscription_expiring`, three days before the end: `subscription_id`, `type`, `expires_at`.',
  '- `boost_ended`: `boost_id`, `boostable_type` (a model name), `boostable_id`, `name`, `level`, `ended_at`.',
  '- `security_alert`: `change` (what was changed), `by` (`account` or `operator`).',
].join('\n');

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

export const NOTIFICATION_TYPES = [
  'account_deletion_requested',
  'account_deletion_postponed',
  'gym_license_reviewed',
  'trainer_license_reviewed',
  'deposit_credited',
  'deposit_returned',
  'withdrawal_paid',
  'withdrawal_rejected',
  'refund_resolved',
  'training_service_sold',
  'training_service_delivered',
  'subscription_expiring',
  'boost_ended',
  'security_alert',
] as const;

export const notificationSchema = z
  .object({
    id: z.int(),
    type: z
      .enum(NOTIFICATION_TYPES)
      .meta({ description: 'What the notification is about. It determines the fields of `data`.' }),
    title: z.string().meta({ description: 'Title, in the language of the request' }),
    body: z.string().meta({ description: 'Text, in the language of the request' }),
    data: z.record(z.string(), z.unknown()).meta({ description: DATA_DESCRIPTION }),
    read_at: timestampSchema
      .nullable()
      .meta({ description: 'When the notification was marked as read; null until then' }),
    created_at: timestampSchema,
  })
  .meta({ id: 'Notification', description: 'A notification, with its texts in the language of the request' });

type NotificationResource = z.output<typeof notificationSchema>;
export type NotificationType = NotificationResource['type'];

interface TextKeys {
  title: string;
  body: string;
}

const textsOf = (key: string): TextKeys => ({ title: `${key}.title`, body: `${key}.body` });

/** Data of a review after an operator has removed the document. */
export const REMOVED_LICENSE = { approved: null, reason: '', removed: true } as const;

const outcomeOf = ({ approved, removed }: Record<string, unknown>): string => {
  if (removed === true) return 'removed';
  if (approved === null) return 'pending';
  return approved === true ? 'approved' : 'rejected';
};

/** Reviews and refunds have a text for each outcome, security alerts for each change. Other types have one text. */
const textKeys = ({ type, data }: NotificationRow): TextKeys => {
  if (type === 'gym_license_reviewed' || type === 'trainer_license_reviewed') {
    return textsOf(`notification.${type}.${outcomeOf(data)}`);
  }
  if (type === 'refund_resolved') return textsOf(`notification.${type}.${data.outcome}`);
  if (type !== 'security_alert') return textsOf(`notification.${type}`);
  const texts = textsOf(`notification.security_alert.${data.change}`);
  return data.by === 'operator' ? { ...texts, body: 'notification.security_alert.by_operator.body' } : texts;
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
const emailKey = (body: string): string => {
  const key = body.replace(/\.body$/, '.email');
  return CATALOGUES.get(DEFAULT_LOCALE)?.[key as keyof Catalogue] === undefined ? body : key;
};

export const toEmailTexts = (row: NotificationRow, t: Translate): { title: string; body: string } => {
  const { title, body } = textKeys(row);
  const all = Object.entries(textParams(row.data));
  const params = Object.fromEntries(all.filter(([name]) => EMAIL_PARAMS.includes(name)));
  return {
    title: t(message(title as MessageKey)),
    body: t(message(emailKey(body) as MessageKey, params)),
  };
};

export const toNotification = (row: NotificationRow, t: Translate): NotificationResource => {
  const keys = textKeys(row);
  const params = textParams(row.data);
  return {
    id: row._id,
    type: row.type as NotificationType,
    title: t(message(keys.title as MessageKey, params)),
    body: t(message(keys.body as MessageKey, params)).trim(),
    data: row.data,
    read_at: formatTimestampOrNull(row.read_at),
    created_at: formatTimestamp(row.created_at),
  };
};
