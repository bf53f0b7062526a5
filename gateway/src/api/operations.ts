/** What the document says of every operation besides its schemas: responses, headers, tags and links. */
import { STATUS_CODES } from 'node:http';
import type { MessageKey } from '@fitness/shared/kernel/i18n/catalogue.ts';
import { type Locale, translate } from '@fitness/shared/kernel/i18n/translate.ts';
import type { Json } from './schema.ts';

const text = { type: 'string' };
const seconds = { type: 'integer', format: 'int32', minimum: 0 };
const count = { type: 'integer', format: 'int32', minimum: 0 };

const RETRY_AFTER = {
  description: 'Seconds to wait before the request is repeated',
  schema: seconds,
};

/** Texts by status, where the schema of the route does not describe the response. */
const RESPONSES: Readonly<Record<string, string>> = {
  400: 'The request is malformed, or is not possible in the current state.',
  401: 'The token is missing or is not valid.',
  403: 'You do not have permission to do this.',
  404: 'The resource does not exist, or is not visible to you.',
  408: 'The body arrived too slowly.',
  409: 'The request conflicts with the current state.',
  413: 'The body is too large.',
  415: 'The type or the encoding of the body is not supported.',
  422: 'The request is not valid. `errors` has the messages by field.',
  429: 'Too many requests. Repeat the request after `Retry-After` seconds.',
  500: 'Something went wrong on our side.',
  503: 'The platform, or a part of it, is not available. Repeat the request after `Retry-After` seconds.',
};

export const responseText = (status: string): string => RESPONSES[status] ?? STATUS_CODES[status] ?? status;

/** Headers by the status of the response. */
const HEADERS: Readonly<Record<string, Record<string, Json>>> = {
  401: { 'WWW-Authenticate': { description: 'Authentication scheme: `Bearer`', schema: text } },
  403: {
    'WWW-Authenticate': {
      description:
        'For an OAuth token that lacks a scope that its user could grant: `Bearer error="insufficient_scope", scope="…"`',
      schema: text,
    },
  },
  429: {
    'Retry-After': RETRY_AFTER,
    'X-RateLimit-Limit': {
      description: 'Number of requests that the limit allows in its time window',
      schema: count,
    },
    'X-RateLimit-Remaining': { description: 'Number of requests that are left: 0', schema: count },
  },
  503: { 'Retry-After': RETRY_AFTER },
};

const DOWNLOAD_HEADERS = {
  ETag: { description: 'Version of the file, for `If-None-Match` and `If-Range`', schema: text },
  'Content-Disposition': { description: '`attachment`, with the name of the file', schema: text },
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

/** Texts by the name of the parameter, where the schema of the route does not describe it. */
const PARAMETERS: Readonly<Record<string, string>> = {
  id: 'Id of the resource',
  session_id: 'Id of the session',
  filename: 'Name of the file, as in its link. Another name returns the same file.',
  search:
    'Part of the text to find. Case, and variants of Persian and Arabic letters and digits, do not matter.',
  order: 'Order by id: `DESC` for the newest first, `ASC` for the oldest first',
  user_id: 'Only results of this user',
  city_id: 'Only results in this city',
  state_id: 'Only results in this state',
  major_ids: 'Only results with one of these majors: ids, separated by commas',
  near: 'Position as `latitude,longitude` in degrees. The nearest results come first.',
  type: 'Only results of this type',
  item_id: 'Only results on the profiles with these ids, separated by commas',
  in_blog: 'True: only results in the blog. False: only the others.',
  is_trainer: 'True: only users who identify as trainers. False: only the others.',
  role: 'Only results in which you have this role',
  is_done: 'True: only results that are done. False: only the others.',
  rejected: 'True: only rejected withdrawals. False: only the others.',
  is_delivered: 'True: only results that are delivered. False: only the others.',
  training_service_id: 'Only results of this training service',
  min_price: 'Lowest price in Tooman, inclusive',
  max_price: 'Highest price in Tooman, inclusive',
  actor_id: 'Only actions of this user',
  subject_type: 'Only actions on resources of this type',
  action: 'Only this action',
  trackId: 'Id of the payment at the bank gateway',
  orderId: 'Our id of the deposit, as the bank gateway returns it',
};

/** Undefined for an unknown name; a test finds it. */
export const parameterText = (name: string): string | undefined => PARAMETERS[name];

/** Fields that mean the same in every resource, where the schema does not describe them. */
const FIELDS: Readonly<Record<string, string>> = {
  id: 'Id; it never changes',
  message: 'Text for people, in the language of the request',
  error: 'Text for people, in the language of the request',
  code: 'Stable code, the same in every language and release',
  created_at: 'When it was created',
  updated_at: 'When it was last changed',
};

/** Undefined for an unknown name; a test finds it. */
export const fieldText = (name: string): string | undefined => FIELDS[name];

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
