/** Which errors of the drivers are a 503, and which stay a 500. */
import { expect, test } from '@jest/globals';
import { Redis } from 'ioredis';
import { mongo } from 'mongoose';
import { toAppError } from '../../src/http/error-handler.ts';
import { systemClock } from '../../src/kernel/clock.ts';
import { internalError, message, unavailable } from '../../src/kernel/error.ts';
import {
  isDatabaseAtFault,
  isDatabaseLost,
  isDatabaseUnderPressure,
  isTransactionLimit,
  mayBeStored,
} from '../../src/kernel/outage.ts';
import { createRequestScope } from '../../src/kernel/request-scope.ts';
import { BrokerUnavailableError } from '../../src/messaging/publish.ts';
import { decideRetry } from '../../src/messaging/retry.ts';
import { HEADER } from '../../src/messaging/topology.ts';

const server = (code: number, errorLabels: string[] = []): mongo.MongoServerError =>
  new mongo.MongoServerError({ message: `code ${code}`, code, errorLabels });

const rejectionOf = (work: Promise<unknown>): Promise<unknown> =>
  work.then(
    () => undefined,
    (error: unknown) => error,
  );

const ofRedis = async (): Promise<unknown> => {
  const redis = new Redis('redis://127.0.0.1:1', {
    enableOfflineQueue: false,
    maxRetriesPerRequest: 0,
    lazyConnect: true,
    retryStrategy: () => null,
  });
  redis.on('error', () => undefined);
  const error = await rejectionOf(redis.get('key'));
  redis.disconnect();
  return error;
};

const cases: [string, () => unknown][] = [
  ['MongoNetworkError', () => new mongo.MongoNetworkError('closed')],
  ['MongoNetworkTimeoutError', () => new mongo.MongoNetworkTimeoutError('timed out')],
  ['MongoServerSelectionError', () => new mongo.MongoServerSelectionError('none', {} as never)],
  ['MongoNotConnectedError', () => new mongo.MongoNotConnectedError('not connected')],
  ['MongoTopologyClosedError', () => new mongo.MongoTopologyClosedError('closed')],
  [
    'MongoBulkWriteError of a lost connection',
    () => new mongo.MongoBulkWriteError(new mongo.MongoNetworkError('closed') as never, {} as never),
  ],
  ['a primary that steps down', () => server(189)],
  ['a command that ran out of time', () => server(50)],
  ['a write conflict', () => server(112)],
  ['Redis without a connection', ofRedis],
  ['RabbitMQ without a connection', () => new BrokerUnavailableError()],
  ['EPIPE', () => Object.assign(new Error('write EPIPE'), { code: 'EPIPE' })],
  ['ECONNRESET as a cause', () => new Error('failed', { cause: { code: 'ECONNRESET' } })],
];

test.each(cases)('the error %s becomes 503 and Retry-After', async (_name, thrown) => {
  const error = toAppError(await thrown(), undefined);
  expect(error).toMatchObject({ kind: 'unavailable', code: 'unavailable' });
  expect(error.retryAfterS).toBeGreaterThan(0);
});

test.each<[string, unknown]>([
  ['a duplicate key', server(11_000)],
  ['a refused document', server(121)],
  ['a fault in the code', new TypeError('x is not a function')],
  [
    'a failed bulk write',
    new mongo.MongoBulkWriteError({ message: 'E11000', code: 11_000 } as never, {} as never),
  ],
  ['something that is no error', 'text'],
])('the error %s stays a 500', (_name, thrown) => {
  expect(toAppError(thrown, undefined)).toMatchObject({ kind: 'internal', code: 'internal' });
});

test('a 500 that the specification defines stays one, whatever caused it', () => {
  const cause = new mongo.MongoNetworkError('closed');
  const failed = internalError(
    'store_purchase.grant_failed',
    message('store_purchase.grant_failed'),
    '',
    cause,
  );
  expect(toAppError(failed, undefined)).toBe(failed);
});

test('every 503 after an effect of the request says that the outcome is unknown', () => {
  const scope = { ...createRequestScope(), hasEffect: true };
  for (const thrown of [new mongo.MongoNetworkError('closed'), unavailable('wallet')])
    expect(toAppError(thrown, scope)).toMatchObject({ kind: 'unavailable', code: 'outcome_unknown' });
});

/**
 * The codes of MongoDB for a temporary state (`src/mongo/base/error_codes.yml`). `lost`: the server goes away or is not the primary.
 * `interrupted`: a part of the command may be done. `refused`: a write of one document was not made. `pressure`: the state is that of
 * the server. `limit`: a transaction is too large or too slow. `ended`: the server ended the command.
 */
const CODES: [number, 'lost' | 'interrupted' | 'refused', string][] = [
  ...[6, 7, 64, 89, 91, 189, 9_001, 10_058, 10_107, 11_600, 11_602, 13_435, 13_436].map(
    (code): [number, 'lost', string] => [code, 'lost', ''],
  ),
  ...[43, 50, 237].map((code): [number, 'interrupted', string] => [code, 'interrupted', '']),
  [175, 'interrupted', 'pressure'],
  [262, 'interrupted', 'ended'],
  [290, 'interrupted', 'pressure limit'],
  [11_601, 'interrupted', 'ended'],
  ...[24, 46, 112, 246, 251].map((code): [number, 'refused', string] => [code, 'refused', '']),
  ...[133, 134, 365, 402, 433, 449, 450, 462].map((code): [number, 'refused', string] => [
    code,
    'refused',
    'pressure',
  ]),
  [388, 'refused', 'pressure limit'],
];

const ONE = { isSingle: true, isRepeated: false };

/** Whether a failed try of a consumer counts towards the dead-letter queue. */
const isCounted = (error: unknown): boolean => {
  const history = {
    attempts: 0,
    consumer: undefined,
    originalRoutingKey: 'shop.order.placed',
    publishedAs: 'shop.order.placed',
    firstFailure: undefined,
    notBefore: undefined,
  };
  const context = { namespace: 'n', service: 's', retryDelaysMs: [1, 2], clock: systemClock };
  return decideRetry(context, history, { error, consumer: 'orders' }).headers[HEADER.attempts] === 1;
};

test.each(CODES)('code %i of MongoDB means: %s %s', (code, kind, more) => {
  const error = server(code);
  const isPressure = more.includes('pressure');
  expect(toAppError(error, undefined)).toMatchObject({ kind: 'unavailable', code: 'unavailable' });
  expect({
    isLost: isDatabaseLost(error),
    isPressure: isDatabaseUnderPressure(error),
    isLimit: isTransactionLimit(error),
    isAtFault: isDatabaseAtFault(error),
    isCounted: isCounted(error),
    mayBeStored: mayBeStored(error, ONE),
    mayBeStoredInPart: mayBeStored(error, { ...ONE, isSingle: false }),
    mayBeStoredBefore: mayBeStored(error, { ...ONE, isRepeated: true }),
  }).toEqual({
    isLost: kind === 'lost',
    isPressure,
    isLimit: more.includes('limit'),
    isAtFault: kind === 'lost' || isPressure || more === 'ended',
    isCounted: !(kind === 'lost' || isPressure || more === 'ended'),
    mayBeStored: kind !== 'refused',
    mayBeStoredInPart: true,
    mayBeStoredBefore: true,
  });
});

test('the labels of the server say more than its code', () => {
  const overloaded = server(1, ['SystemOverloadedError']);
  expect([isDatabaseUnderPressure(overloaded), mayBeStored(overloaded, ONE)]).toEqual([true, false]);
  const rejected = server(50, ['SystemOverloadedError', 'RetryableError']);
  expect([mayBeStored(rejected, ONE), mayBeStored(rejected, { ...ONE, isSingle: false })]).toEqual([
    false,
    false,
  ]);
  expect(mayBeStored(rejected, { ...ONE, isRepeated: true })).toBe(true);
  expect(mayBeStored(server(91, ['NoWritesPerformed']), { isSingle: false, isRepeated: true })).toBe(false);
});
