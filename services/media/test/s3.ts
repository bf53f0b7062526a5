/** A new bucket for each test file, on the S3 server that `npm test` starts. */
import { randomUUID } from 'node:crypto';
import { CreateBucketCommand, PutObjectCommand, S3Client } from '@aws-sdk/client-s3';

/** MinIO's default key. moto accepts any key. */
const KEY = 'minioadmin';
export const S3_CREDENTIALS = { accessKeyId: KEY, secretAccessKey: KEY };
const REGION = 'us-east-1';

export interface TestBucket {
  endpoint: string;
  bucket: string;
  region: string;
  /** Writes to the bucket directly. */
  putObject(key: string, content: string): Promise<void>;
  close(): void;
}

export const createBucket = async (): Promise<TestBucket> => {
  const endpoint = process.env.TEST_S3_ENDPOINT;
  if (endpoint === undefined) {
    throw new Error('TEST_S3_ENDPOINT is not set: run the tests with `npm test`, which starts the server');
  }
  const client = new S3Client({
    endpoint,
    region: REGION,
    forcePathStyle: true,
    credentials: S3_CREDENTIALS,
  });
  const bucket = `test-${randomUUID()}`;
  await client.send(new CreateBucketCommand({ Bucket: bucket }));
  return {
    endpoint,
    bucket,
    region: REGION,
    putObject: async (key, content) => {
      await client.send(new PutObjectCommand({ Bucket: bucket, Key: key, Body: content }));
    },
    close: () => client.destroy(),
  };
};
