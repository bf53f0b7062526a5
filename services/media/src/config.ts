import {
  ConfigError,
  grpcAddresses,
  parseConfig,
  seconds,
  serviceShape,
  url,
} from '@fitness/shared/kernel/config.ts';
import { z } from 'zod';

const text = z.string().min(1);

const schema = z.object({
  ...serviceShape('media', 8105),
  GYMS_GRPC_ADDRESS: grpcAddresses.GYMS_GRPC_ADDRESS,
  IDENTITY_GRPC_ADDRESS: grpcAddresses.IDENTITY_GRPC_ADDRESS,
  CONTENT_GRPC_ADDRESS: grpcAddresses.CONTENT_GRPC_ADDRESS,
  /** Where accepted files are stored: on the local disk, or in an S3 bucket. */
  MEDIA_STORAGE: z.enum(['local', 's3']).default('local'),
  /** Directory of the spool. With `local`, it contains the files too. */
  MEDIA_DIRECTORY: text.default('.data/media'),
  /**
   * Number of processes that may serve requests. With `local`, each would have files on a separate disk, so
   * only one is allowed.
   */
  MEDIA_REPLICAS: z.coerce.number().int().min(1).default(1),
  /** Required for `s3`. */
  MEDIA_S3_BUCKET: text.optional(),
  MEDIA_S3_REGION: text.default('us-east-1'),
  /** Endpoint of a provider other than AWS. */
  MEDIA_S3_ENDPOINT: url.optional(),
  /** Both or none. Defaults to the SDK's lookup, for example the role of the machine. */
  MEDIA_S3_ACCESS_KEY_ID: text.optional(),
  MEDIA_S3_SECRET_ACCESS_KEY: text.optional(),
  /** Interval of the job that deletes files without a row. */
  MEDIA_SWEEP_SECONDS: seconds.default(3_600),
});

export type MediaConfig = z.output<typeof schema>;

/** Throws `ConfigError`, which names every invalid variable. */
export const readConfig = (env: Record<string, string | undefined> = process.env): MediaConfig => {
  const config = parseConfig(schema, env);
  if (config.MEDIA_STORAGE === 's3' && config.MEDIA_S3_BUCKET === undefined) {
    throw new ConfigError('Wrong configuration: MEDIA_S3_BUCKET: needed where MEDIA_STORAGE is s3');
  }
  if (config.MEDIA_STORAGE === 'local' && config.MEDIA_REPLICAS > 1) {
    throw new ConfigError(
      'Wrong configuration: MEDIA_STORAGE: local is for one replica, and MEDIA_REPLICAS says more; s3 is for several',
    );
  }
  const { MEDIA_S3_ACCESS_KEY_ID: id, MEDIA_S3_SECRET_ACCESS_KEY: secret } = config;
  if ((id === undefined) !== (secret === undefined)) {
    const missing = id === undefined ? 'MEDIA_S3_ACCESS_KEY_ID' : 'MEDIA_S3_SECRET_ACCESS_KEY';
    throw new ConfigError(`Wrong configuration: ${missing}: needed with the other half of the credentials`);
  }
  return config;
};
