/** What the document says of every operation besides its schemas: headers, tags and links. */
import type { MessageKey } from '@fitness/shared/kernel/i18n/catalogue.ts';
import { type Locale, translate } from '@fitness/shared/kernel/i18n/translate.ts';
import type { Json } from './schema.ts';

const text = { type: 'string' };
const seconds = { type: 'integer', format: 'int32', minimum: 0 };
const count = { type: 'integer', format: 'int32', minimum: 0 };

const RETRY_AFTER = {
  description: 'Seconds after which the request may be repeated',
  schema: seconds,
};

/** Headers by the status of the response. */
const HEADERS: Readonly<Record<string, Record<string, Json>>> = {
  401: { 'WWW-Authenticate': { description: 'The scheme of authentication: `Bearer`', schema: text } },
  403: {
    'WWW-Authenticate': {
      description:
        'For an OAuth token that lacks a scope which its user could give: `Bearer error="insufficient_scope", scope="…"`',
      schema: text,
    },
  },
  429: {
    'Retry-After': RETRY_AFTER,
    'X-RateLimit-Limit': { description: 'Requests that the limit allows in its window', schema: count },
    'X-RateLimit-Remaining': { description: 'How many of them are left: 0', schema: count },
  },
  503: { 'Retry-After': RETRY_AFTER },
};

const DOWNLOAD_HEADERS = {
  ETag: { description: 'For `If-None-Match` and `If-Range`', schema: text },
  'Content-Disposition': { description: '`attachment` with the name of the file', schema: text },
};

export const headersOf = (operationId: string, status: string): Record<string, Json> | undefined =>
  operationId.startsWith('getMedia') && ['200', '206'].includes(status) ? DOWNLOAD_HEADERS : HEADERS[status];

/** In the order of the document, with the key of their texts. A test compares the names with the tags of the routes. */
const TAG_KEYS = {
  Auth: 'docs.tags.auth',
  Users: 'docs.tags.users',
  Roles: 'docs.tags.roles',
  Notifications: 'docs.tags.notifications',
  Gyms: 'docs.tags.gyms',
  Posts: 'docs.tags.posts',
  'Training services': 'docs.tags.training_services',
  Payments: 'docs.tags.payments',
  Media: 'docs.tags.media',
  Audit: 'docs.tags.audit',
} as const satisfies Record<string, MessageKey>;

export const TAG_NAMES = Object.keys(TAG_KEYS) as readonly (keyof typeof TAG_KEYS)[];

/** The tags with their texts in one language. */
export const tagsIn = (locale: Locale): { name: string; title: string; description: string }[] =>
  TAG_NAMES.map((name) => ({
    name,
    title: translate(locale, `${TAG_KEYS[name]}.name`),
    description: translate(locale, TAG_KEYS[name]),
  }));

/** By name; of the parameters that the schema of a route does not describe itself. */
const PARAMETERS: Readonly<Record<string, string>> = {
  id: 'Id of the resource that the path names',
  filename: 'For the name of the saved file only',
  search: 'A part of the text; case, and variants of Persian and Arabic letters and digits, do not matter',
  order: 'By id: `DESC` (newest first) or `ASC`',
  user_id: 'Only those of this user',
  city_id: 'Only those in this city',
  state_id: 'Only those in this state',
  major_ids: 'Only those with one of these majors; ids with commas between them',
  near: 'Nearest first, from `latitude,longitude`',
  type: 'Only those of this type',
  item_id: 'Only those on the profile with this id',
  in_blog: 'Only those in the blog, or only the others',
  is_trainer: 'Only those who call themselves trainers, or only the others',
  deletion_pending: 'Only accounts whose deletion is scheduled, or only the others',
  role: 'Only those with this role, or of those where the caller has it',
  is_done: 'Only those that are done, or only the others',
  rejected: 'Only rejected withdrawals, or only the others',
  is_delivered: 'Only those that are delivered, or only the others',
  training_service_id: 'Only those of this training service',
  min_price: 'In Tooman, inclusive',
  max_price: 'In Tooman, inclusive',
  actor_id: 'Only what this user did',
  subject_type: 'Only what was done to resources of this type',
  action: 'Only this action',
  trackId: 'Of the payment at the bank gateway',
  orderId: 'Our id of the deposit, as the bank gateway returns it',
};

/** Undefined for an unknown name; a test finds it. */
export const parameterText = (name: string): string | undefined => PARAMETERS[name];

interface Link {
  /** The operation and the status whose answer has the id. */
  from: readonly [operationId: string, status: string];
  /** Where the id stands in the answer. */
  at: string;
  /** Operations that take the id in their path. */
  to: readonly string[];
}

const GYM = ['getGymsById', 'putGymsById', 'deleteGymsById', 'putGymsByIdWorkingPeriods', 'putGymsByIdCrowd'];
const POST = ['getPostsById', 'putPostsById', 'deletePostsById'];
const SERVICE = [
  'getTrainingServicesById',
  'putTrainingServicesById',
  'deleteTrainingServicesById',
  'postTrainingServicesByIdPurchase',
];

/** Which operations continue with what another one has answered. */
export const LINKS: readonly Link[] = [
  { from: ['postAuthLogin', '200'], at: '/user/id', to: ['getUsersById'] },
  { from: ['postAuthRegister', '201'], at: '/user/id', to: ['getUsersById'] },
  { from: ['getUsers', '200'], at: '/data/0/id', to: ['getUsersById', 'putUsersById'] },
  { from: ['postAuthTokens', '201'], at: '/data/id', to: ['deleteAuthTokensById'] },
  { from: ['getAuthTokens', '200'], at: '/data/0/id', to: ['deleteAuthTokensById'] },
  { from: ['getAuthSessions', '200'], at: '/data/0/id', to: ['deleteAuthSessionsById'] },
  { from: ['getRoles', '200'], at: '/data/0/id', to: ['putRolesById'] },
  { from: ['getNotifications', '200'], at: '/data/0/id', to: ['postNotificationsByIdRead'] },
  { from: ['postGyms', '201'], at: '/gym/id', to: GYM },
  { from: ['getGyms', '200'], at: '/data/0/id', to: ['getGymsById', 'putGymsByIdRating'] },
  { from: ['postPosts', '201'], at: '/data/id', to: POST },
  { from: ['getPosts', '200'], at: '/data/0/id', to: ['getPostsById'] },
  { from: ['postTrainingServices', '201'], at: '/data/id', to: SERVICE },
  {
    from: ['getTrainingServices', '200'],
    at: '/data/0/id',
    to: ['getTrainingServicesById', 'postTrainingServicesByIdPurchase'],
  },
  { from: ['postTrainingServicesByIdPurchase', '201'], at: '/data/id', to: ['postTraineesByIdDeliver'] },
  { from: ['getTrainees', '200'], at: '/data/0/id', to: ['postTraineesByIdDeliver'] },
  { from: ['postPaymentsDeposit', '201'], at: '/payment/id', to: ['getPaymentsById'] },
  { from: ['getPayments', '200'], at: '/data/0/id', to: ['getPaymentsById'] },
  {
    from: ['postPaymentsWithdrawals', '201'],
    at: '/payment/id',
    to: ['getPaymentsById', 'postPaymentsByIdPay', 'postPaymentsByIdReject'],
  },
  { from: ['getPaymentsDepositDisputed', '200'], at: '/data/0/payment/id', to: ['postPaymentsByIdResolve'] },
  {
    from: ['getPaymentsStorePurchasesRefundQueue', '200'],
    at: '/data/0/id',
    to: ['postPaymentsStorePurchasesRefundQueueByIdResolve'],
  },
  { from: ['postMedia', '201'], at: '/data/id', to: ['getMediaById', 'deleteMediaById'] },
];

/** The links of one response, without those to operations that the document lacks. */
export const linksOf = (
  operationId: string,
  status: string,
  known: ReadonlySet<string>,
): Record<string, Json> | undefined => {
  const found = LINKS.filter(({ from: [id, code] }) => id === operationId && code === status);
  const links = found.flatMap(({ at, to }) =>
    to
      .filter((target) => known.has(target))
      .map((target) => [target, { operationId: target, parameters: { id: `$response.body#${at}` } }]),
  );
  return links.length === 0 ? undefined : Object.fromEntries(links);
};
