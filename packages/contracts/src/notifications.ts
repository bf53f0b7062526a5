/**
 * The types of notifications, in the order of the preferences. Identity stores, shows and sends them; the gateway takes its
 * examples from here. A new type is a row, a call of `deliverNotification`, and its texts, which the type check names.
 */
import { MODEL } from './model-names.ts';

interface NotificationRow {
  /** An example of `data`. Its fields are those that every notification of the type has. */
  data: Readonly<Record<string, unknown>>;
  /** What the example does not say, for the API document. */
  note?: string;
  /** The email cannot be switched off. Otherwise someone who takes over an account could hide it from the owner. */
  isMandatory?: true;
}

const PAYMENT = { payment_id: 501, amount: 50_000 };
const SALE = { trainee_id: 21, training_service_id: 9, title: 'Strength in twelve weeks' };

const NOTIFICATIONS = {
  account_deletion_requested: {
    data: { deletion_requested_at: '2026-03-02 10:00:00', deletion_scheduled_at: '2026-03-16 10:00:00' },
    isMandatory: true,
  },
  account_deletion_postponed: {
    data: { deletion_scheduled_at: '2026-03-17 10:00:00', blockers: ['gym_ownership'] },
    isMandatory: true,
  },
  gym_license_reviewed: {
    data: { gym_id: 5, gym_name: 'Alborz', approved: false, reason: 'The stamp is missing.' },
    note: '`approved` is null when an operator has removed the document; then `removed` is true.',
  },
  trainer_license_reviewed: {
    data: { approved: true, reason: '' },
    note: '`approved` is null when an operator has reset the review, or removed the document; then `removed` is true.',
  },
  deposit_credited: { data: PAYMENT },
  deposit_returned: { data: PAYMENT },
  withdrawal_paid: { data: PAYMENT },
  withdrawal_rejected: { data: { ...PAYMENT, reason: 'The account is closed.' } },
  refund_resolved: {
    data: { refund_id: 2, outcome: 'refunded', channel: 'cafebazaar', product_id: 'boost_pro' },
    note: '`outcome` is `refunded` or `granted`.',
  },
  training_service_sold: { data: { ...SALE, amount: 90_000, commission: 9_000 } },
  training_service_delivered: { data: SALE },
  subscription_expiring: {
    data: { subscription_id: 7, type: 'plus', expires_at: '2026-04-01 08:30:00' },
    note: 'Sent three days before the end.',
  },
  boost_ended: {
    data: {
      ...{ boost_id: 11, boostable_type: MODEL.gym, boostable_id: 5 },
      ...{ name: 'Alborz', level: 2, ended_at: '2026-03-08 08:30:00' },
    },
  },
  security_alert: {
    data: { change: 'password_changed', by: 'account' },
    note: '`change` is what was changed, `by` is `account` or `operator`.',
    isMandatory: true,
  },
} as const satisfies Record<string, NotificationRow>;

export type NotificationType = keyof typeof NOTIFICATIONS;

/** A type with data that has at least the fields of its row. */
export type NotificationContent = {
  [Type in NotificationType]: {
    type: Type;
    data: Readonly<Record<keyof (typeof NOTIFICATIONS)[Type]['data'], unknown>>;
  };
}[NotificationType];

const ROWS = Object.entries(NOTIFICATIONS) as [NotificationType, NotificationRow][];

export const NOTIFICATION_TYPES = ROWS.map(([type]) => type);
export const MANDATORY_EMAILS = ROWS.filter(([, row]) => row.isMandatory).map(([type]) => type);

/** Describes `data` in the API document. */
export const NOTIFICATION_DATA = [
  'Examples by `type`. Amounts are in Tooman, times in UTC.\n',
  ...ROWS.map(([type, { data, note = '' }]) => `- \`${type}\`: \`${JSON.stringify(data)}\` ${note}`.trim()),
].join('\n');
