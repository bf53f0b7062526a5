/** Which errors of the drivers are a 503, and which stay a 500. */
import { expect, test } from '@jest/globals';
import { Redis } from 'ioredis';
import { mongo } from 'mongoose';
import { toAppError } from '../../src/http/error-handler.ts';
import { internalError, message, unavailable } from '../../src/kernel/error.ts';
import { createRequestScope } from '../../src/kernel/request-scope.ts';
import { BrokerUnavailableError } from '../../src/messaging/publish.ts';

const server = (code: number): mongo.MongoServerError =>
  new mongo.MongoServerError({ message: `code ${code}`, code });

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
