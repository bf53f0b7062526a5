/**
 * Files as objects of a bucket of S3, or of what speaks its protocol. An upload waits in a spool on the local disk and
 * is then sent as one PUT of known length and checksum: the object is there whole or not at all, a failed attempt can
 * be repeated, and memory holds a few pieces of it only. Loaded only where it is configured.
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
import { unavailable } from '@fitness/shared/error.ts';
import CircuitBreaker from 'opossum';
import { FILE_MISSING, type StoredFile } from '../domain/media.ts';
import { createSpool } from './spool.ts';
import { asStorageKey, isStorageKey, type Storage } from './storage.ts';

export interface S3Options {
  bucket: string;
  region: string;
  /** Of a service that is not Amazon's; buckets are then part of the path. */
  endpoint?: string | undefined;
  /** Default: what the SDK finds by itself, such as the role of the machine. */
  credentials?: { accessKeyId: string; secretAccessKey: string } | undefined;
  /** For what is on its way in. */
  directory: string;
  /** Objects in one page of a listing. Default: what the storage gives, usually 1,000. */
  pageSize?: number | undefined;
}

const CONNECT_MS = 3_000;
/** Of a whole exchange, but for the body of a download. */
const DEADLINE_MS = 30_000;
/** A download whose bytes nobody takes, or that stands still. */
const IDLE_MS = 60_000;
const SOCKETS = 200;
const ATTEMPTS = 3;
const BREAKER = {
  timeout: false as const,
  volumeThreshold: 10,
  errorThresholdPercentage: 50,
  rollingCountTimeout: 10_000,
  resetTimeout: 2_000,
};

const ignore = (): void => undefined;
/** Whatever fails is thrown as well, and logged by whoever catches it. */
const SILENT = { trace: ignore, debug: ignore, info: ignore, warn: ignore, error: ignore };

const clientConfig = ({ region, endpoint, credentials }: S3Options): S3ClientConfig => ({
  region,
  ...(endpoint === undefined ? {} : { endpoint, forcePathStyle: true }),
  ...(credentials === undefined ? {} : { credentials }),
  maxAttempts: ATTEMPTS,
  logger: SILENT,
  // The checksum that we know is sent; the trailing one of the SDK is not understood by everything that speaks S3.
  requestChecksumCalculation: 'WHEN_REQUIRED',
  responseChecksumValidation: 'WHEN_REQUIRED',
  requestHandler: {
    connectionTimeout: CONNECT_MS,
    requestTimeout: DEADLINE_MS,
    throwOnRequestTimeout: true,
    socketTimeout: IDLE_MS,
    httpAgent: { keepAlive: true, maxSockets: SOCKETS },
    httpsAgent: { keepAlive: true, maxSockets: SOCKETS },
  },
});

/** The other side has answered, and the answer is no: nothing that waiting would change. */
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

export const createS3Storage = async (options: S3Options): Promise<Storage> => {
  const spool = await createSpool(join(options.directory, 'arriving'));
  const client = new S3Client(clientConfig(options));
  const breaker = new CircuitBreaker((work: () => Promise<unknown>) => work(), {
    ...BREAKER,
    errorFilter: isRefusal,
  });
  const Bucket = options.bucket;

  /** Throws `unavailable` when no answer could be had, or one that says that we are not let in. */
  const ask = async <Answer>(what: string, work: () => Promise<Answer>): Promise<Answer> => {
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
    discard: ({ key }) => spool.discard(key),
    place: async (file) => {
      await stat(spool.pathOf(file.key));
      // The SDK repeats no request whose body is a stream; ours can be read again.
      await ask('put', () => repeated(() => put(file)));
      await spool.discard(file.key);
    },
    open: async (key, range) => {
      const Range = range === undefined ? {} : { Range: `bytes=${range.start}-${range.end}` };
      const command = new GetObjectCommand({ Bucket, Key: asStorageKey(key), ...Range });
      const { Body } = await ask('get', () => client.send(command));
      return Body as Readable;
    },
    delete: async (key) => {
      await spool.discard(key);
      await ask('delete', () => client.send(new DeleteObjectCommand({ Bucket, Key: asStorageKey(key) })));
    },
    listOlderThan: async function* (before) {
      yield* spool.listOlderThan(before);
      for (let from: string | undefined; ; ) {
        const page = new ListObjectsV2Command({
          Bucket,
          ContinuationToken: from,
          MaxKeys: options.pageSize,
        });
        const { Contents = [], NextContinuationToken } = await ask('list', () => client.send(page));
        yield* keysOf(Contents, before);
        if (NextContinuationToken === undefined) return;
        from = NextContinuationToken;
      }
    },
    check: async () => {
      await ask('check', () => client.send(new HeadBucketCommand({ Bucket })));
    },
    close: () => {
      breaker.shutdown();
      client.destroy();
    },
  };
};

/** The bucket may hold what is not ours. */
const keysOf = (objects: readonly _Object[], before: Date): string[] =>
  objects.flatMap(({ Key, LastModified }) =>
    Key !== undefined && isStorageKey(Key) && LastModified !== undefined && LastModified < before
      ? [Key]
      : [],
  );

const repeated = async (work: () => Promise<unknown>): Promise<unknown> => {
  for (let attempt = 1; ; attempt += 1) {
    try {
      return await work();
    } catch (error) {
      if (isRefusal(error) || attempt >= ATTEMPTS) throw error;
    }
  }
};
