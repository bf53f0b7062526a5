import {
  ConfigError,
  grpcAddresses,
  parseConfig,
  seconds,
  serviceShape,
  url,
} from '@fitness/shared/config.ts';
import { z } from 'zod';

const text = z.string().min(1);

const schema = z.object({
  ...serviceShape('media', 8105),
  GYMS_GRPC_ADDRESS: grpcAddresses.GYMS_GRPC_ADDRESS,
  IDENTITY_GRPC_ADDRESS: grpcAddresses.IDENTITY_GRPC_ADDRESS,
  CONTENT_GRPC_ADDRESS: grpcAddresses.CONTENT_GRPC_ADDRESS,
  /** Where files stay: on the local disk, or in a bucket. */
  MEDIA_STORAGE: z.enum(['local', 's3']).default('local'),
  /** On the local disk: files that stay, and in either case those that are on their way in. */
  MEDIA_DIRECTORY: text.default('.data/media'),
  /** Needed for s3. */
  MEDIA_S3_BUCKET: text.optional(),
  MEDIA_S3_REGION: text.default('us-east-1'),
  /** Of a service that is not Amazon's. */
  MEDIA_S3_ENDPOINT: url.optional(),
  /** Both or none; without them what the SDK finds by itself, such as the role of the machine. */
  MEDIA_S3_ACCESS_KEY_ID: text.optional(),
  MEDIA_S3_SECRET_ACCESS_KEY: text.optional(),
  /** How often files without a row are looked for. */
  MEDIA_SWEEP_SECONDS: seconds.default(3_600),
});

export type MediaConfig = z.output<typeof schema>;

/** Throws `ConfigError` naming each wrong variable. */
export const readConfig = (env: Record<string, string | undefined> = process.env): MediaConfig => {
  const config = parseConfig(schema, env);
  if (config.MEDIA_STORAGE === 's3' && config.MEDIA_S3_BUCKET === undefined) {
    throw new ConfigError('Wrong configuration: MEDIA_S3_BUCKET: needed where MEDIA_STORAGE is s3');
  }
  const { MEDIA_S3_ACCESS_KEY_ID: id, MEDIA_S3_SECRET_ACCESS_KEY: secret } = config;
  if ((id === undefined) !== (secret === undefined)) {
    const missing = id === undefined ? 'MEDIA_S3_ACCESS_KEY_ID' : 'MEDIA_S3_SECRET_ACCESS_KEY';
    throw new ConfigError(`Wrong configuration: ${missing}: needed with the other half of the credentials`);
  }
  return config;
};
