/** The tour of docs/guides/apps/tour.md as requests that a browser sends. */
import type { Message } from '@fitness/shared/kernel/error.ts';
import { message } from '@fitness/shared/kernel/error.ts';
import { DEMO_PASSWORD } from '@fitness/shared/kernel/known-values.ts';

/** `{name}` in a path or a body stands for a value that an earlier request has saved. */
export interface TourRequest {
  method: 'GET' | 'POST' | 'PUT' | 'DELETE';
  path: string;
  /** Default: the API. */
  at?: 'sandbox';
  isSignedIn?: boolean;
  body?: Readonly<Record<string, unknown>>;
  /** Accepted statuses. The page shows the first one in advance, and the others occur when the request is repeated. */
  status: readonly number[];
  /** Whether to repeat the request every second until the status matches, because a job has to run first. */
  isAwaited?: boolean;
  /** Values to save: names mapped to paths in the response, such as `data.0.code`. Only the last segment of a URL is saved. */
  keep?: Readonly<Record<string, string>>;
  /** The path and value in the response that the step proves, shown above the response. The step fails if the value differs. */
  proof?: { place: string; value: string | number | null };
}

export interface TourStep {
  name: string;
  title: Message;
  lead: Message;
  /** The step that must be completed first. */
  after?: string;
  /** Whether the step starts with a new `{phone}`. */
  isNewMember?: boolean;
  requests: readonly TourRequest[];
}

const logIn = (login: string): TourRequest => ({
  method: 'POST',
  path: '/api/v1/auth/login',
  body: { login, password: DEMO_PASSWORD },
  status: [200],
  keep: { token: 'token' },
});

const deleteAccount = (status: number, fields: Record<string, string> = {}): TourRequest => ({
  method: 'POST',
  path: '/api/v1/auth/delete-account',
  isSignedIn: true,
  body: { current_password: DEMO_PASSWORD, ...fields },
  status: [status],
});

const advanceClock = (advance: string): TourRequest => ({
  method: 'PUT',
  path: '/_sandbox/clock',
  at: 'sandbox',
  body: { advance },
  status: [200],
});

const MEMBER = {
  username: 'tour{phone}',
  email: 'tour{phone}@example.com',
  phone: '{phone}',
  password: DEMO_PASSWORD,
  first_name: 'Sara',
  last_name: 'Ahmadi',
};

/** A new member registers and deletes the account. */
const DELETION: readonly TourRequest[] = [
  {
    method: 'POST',
    path: '/api/v1/auth/register',
    body: MEMBER,
    status: [201],
    keep: { token: 'token' },
  },
  deleteAccount(200),
  {
    method: 'GET',
    path: '/_sandbox/sms?receptor={phone}',
    at: 'sandbox',
    status: [200],
    keep: { code: 'data.0.code' },
  },
  deleteAccount(202, { confirmation_code: '{code}' }),
];

const redeem = (status: readonly number[]): TourRequest => ({
  method: 'POST',
  path: '/api/v1/payments/store-purchases',
  isSignedIn: true,
  body: { channel: 'cafebazaar', product_id: 'premium_plus', purchase_token: 'tour-{phone}' },
  status,
});

export const TOUR_STEPS: readonly TourStep[] = [
  {
    name: 'blocked',
    title: message('start.tour.blocked'),
    lead: message('start.tour.blocked.lead'),
    requests: [logIn('saver'), deleteAccount(409)],
  },
  {
    name: 'deletion',
    title: message('start.tour.deletion'),
    lead: message('start.tour.deletion.lead'),
    isNewMember: true,
    requests: DELETION,
  },
  {
    name: 'cancellation',
    title: message('start.tour.cancellation'),
    lead: message('start.tour.cancellation.lead'),
    after: 'deletion',
    requests: [
      logIn(MEMBER.username),
      { method: 'DELETE', path: '/api/v1/auth/delete-account', isSignedIn: true, status: [200] },
    ],
  },
  {
    name: 'deposit',
    title: message('start.tour.deposit'),
    lead: message('start.tour.deposit.lead'),
    after: 'cancellation',
    requests: [
      {
        method: 'POST',
        path: '/api/v1/payments/deposit',
        isSignedIn: true,
        body: { amount: 50_000 },
        status: [201],
        keep: { track: 'payment_url' },
      },
      { method: 'POST', path: '/_sandbox/zibal/{track}/pay', at: 'sandbox', status: [200] },
      { method: 'GET', path: '/api/v1/payments/balance', isSignedIn: true, status: [200] },
    ],
  },
  {
    name: 'purchase',
    title: message('start.tour.purchase'),
    lead: message('start.tour.purchase.lead'),
    after: 'cancellation',
    requests: [
      {
        method: 'PUT',
        path: '/_sandbox/store/purchases/tour-{phone}',
        at: 'sandbox',
        body: { product_id: 'premium_plus', state: 'purchased' },
        status: [200],
      },
      redeem([201, 200]),
      redeem([200]),
    ],
  },
  {
    name: 'boost',
    title: message('start.tour.boost'),
    lead: message('start.tour.boost.lead'),
    after: 'cancellation',
    requests: [
      {
        method: 'POST',
        path: '/api/v1/training-services',
        isSignedIn: true,
        body: {
          title: 'Strength in 30 days',
          description: 'Three sessions a week',
          price: 100_000,
          duration_days: 30,
        },
        status: [201],
        keep: { service: 'data.id' },
      },
      {
        method: 'PUT',
        path: '/_sandbox/store/purchases/boost-{service}',
        at: 'sandbox',
        body: { product_id: 'boost_basic', state: 'purchased' },
        status: [200],
      },
      {
        method: 'POST',
        path: '/api/v1/payments/store-purchases',
        isSignedIn: true,
        body: {
          channel: 'cafebazaar',
          product_id: 'boost_basic',
          purchase_token: 'boost-{service}',
          boostable_type: 'training_service',
          boostable_id: '{service}',
        },
        status: [201],
      },
      advanceClock('8d'),
      {
        method: 'GET',
        path: '/api/v1/training-services/{service}',
        status: [200],
        proof: { place: 'data.boost', value: null },
      },
    ],
  },
  {
    name: 'subscription',
    title: message('start.tour.subscription'),
    lead: message('start.tour.subscription.lead'),
    after: 'purchase',
    requests: [
      advanceClock('31d'),
      logIn(MEMBER.username),
      {
        method: 'GET',
        path: '/api/v1/auth/me',
        isSignedIn: true,
        status: [200],
        proof: { place: 'user.current_subscription', value: null },
      },
    ],
  },
  {
    name: 'erasure',
    title: message('start.tour.erasure'),
    lead: message('start.tour.erasure.lead'),
    isNewMember: true,
    requests: [
      ...DELETION,
      advanceClock('14d'),
      {
        method: 'POST',
        path: '/api/v1/auth/login',
        body: { login: MEMBER.username, password: DEMO_PASSWORD },
        status: [422],
        isAwaited: true,
      },
    ],
  },
];
