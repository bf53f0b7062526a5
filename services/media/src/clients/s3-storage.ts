/**
 * Files as objects in an S3-compatible bucket. A received file is sent from the spool in one PUT of known length and checksum. The
 * object exists completely or not at all, a failed attempt can be repeated, and memory holds only a few chunks.
 */
import { createReadStream } from 'node:fs';
import { stat } from 'node:fs/promises';
import { join } from 'node:path';
import type { Readable } from 'node:stream';
import {
  type _Object,
  DeleteObjectCommand,
  GetObjectCommand,
  HeadBucketCommand,
  ListObjectsV2Command,
  PutObjectCommand,
  S3Client,
  type S3ClientConfig,
} from '@aws-sdk/client-s3';
import { createCircuitBreaker } from '@fitness/shared/kernel/circuit-breaker.ts';
import { unavailable } from '@fitness/shared/kernel/error.ts';
import type { Metrics } from '@fitness/shared/kernel/metrics.ts';
import { FILE_MISSING, type StoredFile } from '../domain/media.ts';
import { createSpool } from './spool.ts';
import { asStorageKey, isStorageKey, type Storage } from './storage.ts';

export interface S3Options {
  bucket: string;
  region: string;
  /** Endpoint of a provider other than AWS. The bucket is then part of the path. */
  endpoint?: string | undefined;
  /** Defaults to the SDK's lookup, for example the role of the machine. */
  credentials?: { accessKeyId: string; secretAccessKey: string } | undefined;
  /** Directory that contains the spool. */
  directory: string;
  /** Number of objects per page of a listing. Defaults to the provider's, usually 1,000. */
  pageSize?: number | undefined;
}

const CONNECT_MS = 3_000;
/** Limit for a request and its response, without the body of a download. */
const DEADLINE_MS = 30_000;
/** Closes a download that transfers nothing. */
const IDLE_MS = 60_000;
/** Number of connections for uploads, deletions and checks. */
const SOCKETS = 200;
/** Number of connections for downloads. It exceeds the download limit, so slow readers take none of the other connections. */
const DOWNLOAD_SOCKETS = 2_000;
const ATTEMPTS = 3;
const BREAKER_RESET_MS = 2_000;

const ignore = (): void => undefined;
/** The SDK logs errors that it also throws; the caller logs those. */
const SILENT = { trace: ignore, debug: ignore, info: ignore, warn: ignore, error: ignore };

const clientConfig = ({ region, endpoint, credentials }: S3Options, maxSockets: number): S3ClientConfig => ({
  region,
  ...(endpoint === undefined ? {} : { endpoint, forcePathStyle: true }),
  ...(credentials === undefined ? {} : { credentials }),
  maxAttempts: ATTEMPTS,
  logger: SILENT,
  // PUT sends the known SHA-256, because not every S3-compatible server accepts the SDK's trailing checksum.
  requestChecksumCalculation: 'WHEN_REQUIRED',
  responseChecksumValidation: 'WHEN_REQUIRED',
  requestHandler: {
    connectionTimeout: CONNECT_MS,
    requestTimeout: DEADLINE_MS,
    throwOnRequestTimeout: true,
    socketTimeout: IDLE_MS,
    httpAgent: { keepAlive: true, maxSockets },
    httpsAgent: { keepAlive: true, maxSockets },
  },
});

/** An error response that a retry would not change. */
const isRefusal = (error: unknown): boolean => {
  const status = (error as { $metadata?: { httpStatusCode?: number } }).$metadata?.httpStatusCode;
  return status !== undefined && status < 500 && status !== 429;
};

const isMissing = (error: unknown): boolean => {
  const { name } = error as { name?: string };
  return name === 'NoSuchKey' || name === 'NotFound';
};

const missing = (cause: unknown): Error =>
  Object.assign(new Error('no such object', { cause }), { code: FILE_MISSING });

export const createS3Storage = async (options: S3Options, metrics?: Metrics): Promise<Storage> => {
  const spool = await createSpool(join(options.directory, 'arriving'));
  const client = new S3Client(clientConfig(options, SOCKETS));
  const downloads = new S3Client(clientConfig(options, DOWNLOAD_SOCKETS));
  const measured = (work: () => Promise<unknown>): Promise<unknown> =>
    metrics === undefined ? work() : metrics.measureProvider('storage', work, isRefusal);
  const breaker = createCircuitBreaker(measured, {
    target: 'storage',
    metrics,
    resetTimeoutMs: BREAKER_RESET_MS,
    isRefusal,
  });
  const Bucket = options.bucket;

  /** Throws `FILE_MISSING` for an object that does not exist, and `unavailable` for every other failure. */
  const call = async <Answer>(what: string, work: () => Promise<Answer>): Promise<Answer> => {
    try {
      return (await breaker.fire(work)) as Answer;
    } catch (error) {
      throw isMissing(error) ? missing(error) : unavailable(`storage: ${what}`, error);
    }
  };

  const put = ({ key, size, sha256 }: StoredFile): Promise<unknown> =>
    client.send(
      new PutObjectCommand({
        Bucket,
        Key: asStorageKey(key),
        Body: createReadStream(spool.pathOf(key), { highWaterMark: 16 * 1024 }),
        ContentLength: size,
        ChecksumSHA256: Buffer.from(sha256, 'hex').toString('base64'),
      }),
    );

  return {
    receive: (content) => spool.receive(content),
    openReceived: ({ key }) => spool.open(key),
    discard: ({ key }) => spool.discard(key),
    place: async (file) => {
      await stat(spool.pathOf(file.key));
      // The SDK does not retry a request with a stream body, but this body can be read again.
      await call('put', () => withRetries(() => put(file)));
      await spool.discard(file.key);
    },
    open: async (key, range) => {
      const Range = range === undefined ? {} : { Range: `bytes=${range.start}-${range.end}` };
      const command = new GetObjectCommand({ Bucket, Key: asStorageKey(key), ...Range });
      const { Body } = await call('get', () => downloads.send(command));
      return Body as Readable;
    },
    delete: async (key) => {
      await spool.discard(key);
      await call('delete', () => client.send(new DeleteObjectCommand({ Bucket, Key: asStorageKey(key) })));
    },
    listOlderThan: async function* (before) {
      yield* spool.listOlderThan(before);
      for (let from: string | undefined; ; ) {
        const page = new ListObjectsV2Command({
          Bucket,
          ContinuationToken: from,
          MaxKeys: options.pageSize,
        });
        const { Contents = [], NextContinuationToken } = await call('list', () => client.send(page));
        yield* keysOf(Contents, before);
        if (NextContinuationToken === undefined) return;
        from = NextContinuationToken;
      }
    },
    check: async () => {
      await call('check', () => client.send(new HeadBucketCommand({ Bucket })));
    },
    close: () => {
      breaker.shutdown();
      client.destroy();
      downloads.destroy();
    },
  };
};

/** Filters the keys, because the bucket may contain objects of other programs. */
const keysOf = (objects: readonly _Object[], before: Date): string[] =>
  objects.flatMap(({ Key, LastModified }) =>
    Key !== undefined && isStorageKey(Key) && LastModified !== undefined && LastModified < before
      ? [Key]
      : [],
  );

const withRetries = async (work: () => Promise<unknown>): Promise<unknown> => {
  for (let attempt = 1; ; attempt += 1) {
    try {
      return await work();
    } catch (error) {
      if (isRefusal(error) || attempt >= ATTEMPTS) throw error;
    }
  }
};
