/** Descriptions of operations besides their schemas: responses, headers, parameters, tags and links. */
import { STATUS_CODES } from 'node:http';
import type { Json } from './schema.ts';

const text = { type: 'string' };
const seconds = { type: 'integer', format: 'int32', minimum: 0 };
const count = { type: 'integer', format: 'int32', minimum: 0 };

const RETRY_AFTER = {
  description: 'Seconds to wait before a retry',
  schema: seconds,
};

/** Texts by status, for responses that the schema of the route does not describe. */
const RESPONSES: Readonly<Record<string, string>> = {
  400: 'The request is malformed, or not possible in the current state.',
  401: 'The token is missing or invalid.',
  403: 'You do not have permission to do this.',
  404: 'The resource does not exist, or is not visible to you.',
  408: 'The body arrived too slowly.',
  409: 'The request conflicts with the current state.',
  413: 'The body is too large.',
  415: 'The media type or encoding of the body is not supported.',
  422: 'The request is invalid. `errors` contains messages by field.',
  429: 'Too many requests. Retry after `Retry-After` seconds.',
  500: 'Something went wrong on our side.',
  503: 'The platform, or a part of it, is unavailable. Retry after `Retry-After` seconds.',
};

export const responseText = (status: string): string => RESPONSES[status] ?? STATUS_CODES[status] ?? status;

/** Response headers by status. */
const HEADERS: Readonly<Record<string, Record<string, Json>>> = {
  401: { 'WWW-Authenticate': { description: 'Authentication scheme: `Bearer`', schema: text } },
  403: {
    'WWW-Authenticate': {
      description:
        'Sent if an OAuth token lacks a scope that its user could grant: `Bearer error="insufficient_scope", scope="…"`',
      schema: text,
    },
  },
  429: {
    'Retry-After': RETRY_AFTER,
    'X-RateLimit-Limit': {
      description: 'Number of requests allowed in the time window',
      schema: count,
    },
    'X-RateLimit-Remaining': { description: 'Number of requests left in the time window: 0', schema: count },
  },
  503: { 'Retry-After': RETRY_AFTER },
};

const DOWNLOAD_HEADERS = {
  ETag: { description: 'Version of the file, for `If-None-Match` and `If-Range`', schema: text },
  'Content-Disposition': { description: '`attachment`, with the name of the file', schema: text },
};

export const headersOf = (operationId: string, status: string): Record<string, Json> | undefined =>
  operationId.startsWith('getMedia') && ['200', '206'].includes(status) ? DOWNLOAD_HEADERS : HEADERS[status];

/** Tags in the order of the document, with their descriptions. A test compares them with the tags of the routes. */
export const TAGS: Readonly<Record<string, string>> = {
  Auth: 'Your account: registration, sign-in, tokens, two-factor authentication, and deletion.',
  Users: 'The accounts of other users, and how operators manage them.',
  Roles: 'Roles and their permissions, for administrators.',
  Notifications: 'The notifications of your account, in the language of the request.',
  Gyms: 'Gyms with their opening hours, ratings, and crowd levels, and the lists of cities and majors (sports).',
  Posts: 'Posts on the profiles of users and gyms.',
  'Training services': 'What trainers sell, and the trainees who bought it.',
  Payments:
    'The wallet: balance, deposits through the bank gateway, withdrawals, prices, and app-store purchases. Amounts are ' +
    'whole Tooman.',
  Media: 'Files: images, documents for review, and videos.',
  Audit: 'The log of what operators did.',
};

/** Texts by name, for parameters that the schema of the route does not describe. */
const PARAMETERS: Readonly<Record<string, string>> = {
  id: 'Id of the resource',
  session_id: 'Id of the session',
  filename: 'Name of the file, as in its link. Any other name returns the same file.',
  search:
    'Text to search for. Case is ignored, and so are variants of Persian and Arabic letters and digits.',
  order: 'Order by id: `DESC` (newest first) or `ASC` (oldest first)',
  user_id: 'Only results of this user',
  city_id: 'Only results in this city',
  state_id: 'Only results in this state',
  major_ids: 'Only results with one of these majors: ids separated by commas',
  near: 'Position as `latitude,longitude` in degrees. The nearest results come first.',
  type: 'Only results of this type',
  item_id: 'Only results on the profiles with these ids, separated by commas',
  in_blog: 'True: only results in the blog. False: only results outside it.',
  is_trainer: 'True: only users who identify as trainers. False: only other users.',
  role: 'Only results in which you have this role',
  is_done: 'True: only completed results. False: only uncompleted results.',
  rejected: 'True: only rejected withdrawals. False: only other results.',
  is_delivered: 'True: only delivered results. False: only undelivered results.',
  training_service_id: 'Only results of this training service',
  min_price: 'Lowest price in Tooman, inclusive',
  max_price: 'Highest price in Tooman, inclusive',
  actor_id: 'Only actions by this user',
  subject_type: 'Only actions on resources of this type',
  action: 'Only this action',
  trackId: 'Id of the payment at the bank gateway',
  orderId: 'Our order id of the deposit, which the bank gateway returns',
};

/** Undefined for an unknown name. A test reports such names. */
export const parameterText = (name: string): string | undefined => PARAMETERS[name];

/** Texts for fields that mean the same in every resource, unless the schema describes them. */
const FIELDS: Readonly<Record<string, string>> = {
  id: 'Id, which never changes',
  message: 'Human-readable text, in the language of the request',
  error: 'Human-readable text, in the language of the request',
  code: 'Stable code, the same in every language and release',
  created_at: 'When it was created',
  updated_at: 'When it was last changed',
};

/** Undefined for an unknown name. */
export const fieldText = (name: string): string | undefined => FIELDS[name];

interface Link {
  /** The operation and the status whose response contains the id. */
  from: readonly [operationId: string, status: string];
  /** Pointer to the id in the response. */
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

/** Operations that continue with an id from the response of another operation. */
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
  operationIds: ReadonlySet<string>,
): Record<string, Json> | undefined => {
  const matches = LINKS.filter(({ from: [id, code] }) => id === operationId && code === status);
  const links = matches.flatMap(({ at, to }) =>
    to
      .filter((target) => operationIds.has(target))
      .map((target) => [target, { operationId: target, parameters: { id: `$response.body#${at}` } }]),
  );
  return links.length === 0 ? undefined : Object.fromEntries(links);
};
