/** Accounts, sessions and notifications. */
import { MODEL } from '@fitness/contracts/model-names.ts';
import { NOTIFICATION_TYPES, NOTIFICATIONS } from '@fitness/contracts/notifications.ts';
import { english } from './english.ts';

const PREFERENCES = Object.fromEntries(
  NOTIFICATION_TYPES.map((type) => [type, { push: true, email: type !== 'boost_ended' }]),
);
const DEPOSIT = NOTIFICATIONS.deposit_credited.data;

const MEDIA = {
  id: 31,
  attachable_type: MODEL.user,
  attachable_id: 12,
  link: 'https://api.example.com/api/v1/media/31/portrait.jpg',
  filename: 'portrait.jpg',
  mime_type: 'image/jpeg',
  size: 48_213,
  purpose: null,
  created_at: '2026-03-01 08:30:00',
};

export const SUBSCRIPTION = {
  id: 7,
  user_id: 12,
  type: 'plus',
  starts_at: '2026-03-01 08:30:00',
  expires_at: '2026-04-01 08:30:00',
  created_at: '2026-03-01 08:30:00',
};

const ROLE = { id: 2, name: 'member', title: 'Member', permissions: ['posts.view', 'payments.view_own'] };

/** A user as others see them. */
export const PUBLIC_USER = {
  id: 12,
  username: 'sara.ahmadi',
  first_name: 'Sara',
  last_name: 'Ahmadi',
  created_at: '2026-03-01 08:30:00',
  referral_code: 'K7M2QX',
  height: 168,
  birth_date: '1994-05-21',
  gender: 'female',
  is_trainer: true,
  is_gym_owner: false,
  media: [MEDIA],
  current_subscription: SUBSCRIPTION,
};

/** The same user as they see themselves. */
const USER = {
  ...PUBLIC_USER,
  email: 'sara@example.com',
  phone: '+989121234567',
  bank_account_number: 'IR820540102680020817909002',
  trainer_license_image: null,
  trainer_license_link: null,
  trainer_license_approved: null,
  trainer_license_rejection_reason: null,
  referrer_user_id: null,
  referral_score: 0,
  referrals_count: 3,
  roles: [ROLE],
  deletion_requested_at: null,
  deletion_scheduled_at: null,
};

const BLOCKER = { code: 'gym_ownership', message: english('blocker.gym_ownership', { count: 1 }), count: 1 };
const TOKEN = 'fps_3q2wH0c9b1s8Vn5xTt7Lk4Zr6Yp0Jd';
const TOKEN_ROW = {
  id: 4,
  name: 'Backup script',
  permissions: ['payments.view_own'],
  created_at: '2026-03-01 08:30:00',
  expires_at: '2027-03-01 08:30:00',
};
const DEVICE = { id: 3, platform: 'android', locale: 'fa', created_at: '2026-03-01 08:31:10' };
const SCHEDULE = {
  deletion_requested_at: '2026-03-02 10:00:00',
  deletion_scheduled_at: '2026-03-16 10:00:00',
};

export const PEOPLE = {
  Media: MEDIA,
  PremiumSubscription: SUBSCRIPTION,
  Role: ROLE,
  User: USER,
  UserName: { id: 12, username: 'sara.ahmadi', first_name: 'Sara', last_name: 'Ahmadi' },
  SignedIn: { token: TOKEN, token_type: 'Bearer', expires_at: '2026-03-31 08:30:00', user: USER },
  Session: {
    id: 9,
    name: 'Mozilla/5.0 (Android 15; Mobile)',
    address: '203.0.113.7',
    created_at: '2026-03-01 08:30:00',
    last_used_at: '2026-03-02 09:15:00',
    current: true,
    device: DEVICE,
  },
  AppGrant: {
    id: 6,
    client_name: 'Running log',
    scopes: ['posts.view', 'payments.view_own'],
    resource: 'https://api.example.com/mcp',
    created_at: '2026-03-01 08:30:00',
    last_used_at: '2026-03-02 09:15:00',
  },
  PersonalAccessToken: TOKEN_ROW,
  CreatedToken: { token: 'fpp_9dK2mW7s1Xc4Vb8nQ0zL5tR3yH6jP', data: TOKEN_ROW },
  SecondFactorStep: {
    secret: 'JBSWY3DPEHPK3PXPJBSWY3DPEHPK3PXP',
    otpauth_url: 'otpauth://totp/Fitness:sara.ahmadi?secret=JBSWY3DPEHPK3PXPJBSWY3DPEHPK3PXP&issuer=Fitness',
  },
  AccountDeletionResponse: { message: english('deletion.code_sent'), confirmation_required: true },
  DeletionCancelled: { message: english('deletion.cancelled'), user: USER },
  DeletionBlocker: BLOCKER,
  DeletionBlocked: {
    error: english('deletion.blocked'),
    code: 'account_deletion_blocked',
    blockers: [BLOCKER],
  },
  Notification: {
    id: 88,
    type: 'deposit_credited',
    title: english('notification.deposit_credited.title'),
    body: english('notification.deposit_credited.body', { amount: DEPOSIT.amount }),
    data: DEPOSIT,
    read_at: null,
    created_at: '2026-03-01 08:31:10',
  },
  Device: DEVICE,
  NotificationPreferences: { locale: 'fa', types: PREFERENCES },
  AuditEntry: {
    id: 14,
    service: 'gyms',
    action: 'gym.update',
    actor_id: 3,
    subject_type: 'gym',
    subject_id: 5,
    request_id: '0b6f3f0e-6d0a-4f0c-9a51-2f6f5f1c7d11',
    before: { is_active: true },
    after: { is_active: false },
    created_at: '2026-03-02 10:00:00',
  },
};

/** Examples of a schema whose response depends on the status. */
export const ACCOUNT_DELETION_BY_STATUS = {
  202: { message: english('deletion.scheduled'), ...SCHEDULE },
};
