/** An example for every request with a body, by operation. */
import { MODEL } from '@fitness/contracts/model-names.ts';

const PASSWORD = 'correct-horse-42';
const POST = { title: 'Five shoulder exercises', content: 'Start with a light weight.' };
const TRAINING_SERVICE = {
  title: 'Eight weeks of strength training',
  description: 'Three sessions a week and a meal plan.',
  price: 1_200_000,
  duration_days: 56,
};

export const REQUESTS: Readonly<Record<string, Readonly<Record<string, unknown>>>> = {
  postAuthRegister: {
    username: 'sara.ahmadi',
    email: 'sara@example.com',
    phone: '09121234567',
    password: PASSWORD,
    first_name: 'Sara',
    last_name: 'Ahmadi',
  },
  postAuthLogin: { login: 'sara.ahmadi', password: PASSWORD },
  putAuthMe: { height: 168, is_trainer: true },
  postAuthPhoneConfirm: { code: '482915' },
  putAuthChangePassword: { current_password: PASSWORD, password: 'a-new-passphrase-7' },
  postAuthForgotPassword: { login: 'sara.ahmadi' },
  postAuthResetPassword: { login: 'sara.ahmadi', code: '48291537', password: 'a-new-passphrase-7' },
  postAuthDeleteAccount: { current_password: PASSWORD },
  postAuthTokens: { name: 'Backup script', permissions: ['payments.view_own'] },
  postAuthSecondFactor: { current_password: PASSWORD },
  deleteAuthSecondFactor: { current_password: PASSWORD, totp: '482915' },
  postNotificationsDevices: { token: 'fGx1k2:APA91bH-example', platform: 'android', locale: 'fa' },
  putNotificationsPreferences: { locale: 'fa', types: { boost_ended: { email: false } } },
  putUsersById: { trainer_license_approved: true, trainer_license_media_id: 31 },
  putRolesById: { title: 'Member', permissions: ['posts.view', 'payments.view_own'] },
  postGyms: { name: 'Azadi Gym', address: '12 Azadi Street', location_lat: 35.6997, location_lng: 51.338 },
  putGymsById: { description: 'Open every day.', show_crowd: true },
  putGymsByIdCrowd: { current: 24, capacity: 80 },
  putGymsByIdRating: { score: 5 },
  putGymsByIdWorkingPeriods: { working_periods: [{ weekday: 0, opens_at: '07:00', closes_at: '23:00' }] },
  postPosts: { profile_type: MODEL.user, profile_id: 12, ...POST, in_blog: true },
  putPostsById: { ...POST, is_draft: false },
  postTrainingServices: TRAINING_SERVICE,
  putTrainingServicesById: { price: 1_100_000 },
  postTrainingServicesByIdPurchase: { price: 1_200_000 },
  postPaymentsDeposit: { amount: 50_000, description: 'For the spring course' },
  postPaymentsWithdrawals: { amount: 120_000 },
  postPaymentsByIdPay: { reference: '140509041234567' },
  postPaymentsByIdReject: { reason: 'The bank account belongs to someone else.' },
  postPaymentsByIdResolve: { outcome: 'credited', note: 'The bank confirmed the amount.' },
  postPaymentsBuyPremium: { type: 'plus' },
  postPaymentsBoost: { boostable_type: 'gym', boostable_id: 5, level: 'pro' },
  postPaymentsStorePurchases: {
    channel: 'cafebazaar',
    product_id: 'premium_plus',
    purchase_token: 'mQ8fT2xN5aKc',
  },
  postPaymentsStorePurchasesRefundQueueByIdResolve: {
    outcome: 'refunded',
    note: 'Refunded in the store’s console.',
  },
  // `@` makes curl read a file.
  postMedia: { file: '@portrait.jpg', attachable_type: MODEL.user, attachable_id: 12 },
};
