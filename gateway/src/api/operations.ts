/** What the document says of every operation besides its schemas: headers, tags and links. */
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

/** In the order of the document. A test compares the names with the tags of the routes. */
export const TAGS: Readonly<Record<string, string>> = {
  Auth: 'The own account: registering, signing in, tokens, the second factor, and deletion.',
  Users: 'Accounts of others, and what operators do with them.',
  Roles: 'Roles and their permissions, for administrators.',
  Notifications: 'What the account was told. The texts are in the language of the request.',
  Gyms: 'Gyms, their opening hours, ratings and crowd, and the cities and majors that they refer to.',
  Posts: 'Posts on the profiles of users and gyms.',
  'Training services': 'What trainers sell, and the trainees who bought it.',
  Payments:
    'The wallet: balance, deposits through a bank gateway, withdrawals, prices, and purchases from app stores. Amounts are ' +
    'whole Tooman.',
  Media: 'Files: images, documents of a review, and videos.',
  Audit: 'What operators did.',
};

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
