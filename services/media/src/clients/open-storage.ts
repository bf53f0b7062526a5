import type { Metrics } from '@fitness/shared/kernel/metrics.ts';
import { createLocalStorage } from './local-storage.ts';
import type { Storage } from './storage.ts';

export interface StorageConfig {
  MEDIA_STORAGE: 'local' | 's3';
  MEDIA_DIRECTORY: string;
  MEDIA_S3_BUCKET?: string | undefined;
  MEDIA_S3_REGION: string;
  MEDIA_S3_ENDPOINT?: string | undefined;
  MEDIA_S3_ACCESS_KEY_ID?: string | undefined;
  MEDIA_S3_SECRET_ACCESS_KEY?: string | undefined;
}

/** The storage that `MEDIA_STORAGE` selects. */
export const openStorage = async (config: StorageConfig, metrics?: Metrics): Promise<Storage> => {
  if (config.MEDIA_STORAGE === 'local') return createLocalStorage(config.MEDIA_DIRECTORY);
  // Imported on demand, because the S3 SDK takes memory even when it is not used.
  const { createS3Storage } = await import('./s3-storage.ts');
  const { MEDIA_S3_ACCESS_KEY_ID: accessKeyId, MEDIA_S3_SECRET_ACCESS_KEY: secretAccessKey } = config;
  return createS3Storage(
    {
      bucket: config.MEDIA_S3_BUCKET ?? '',
      region: config.MEDIA_S3_REGION,
      endpoint: config.MEDIA_S3_ENDPOINT,
      credentials:
        accessKeyId === undefined || secretAccessKey === undefined
          ? undefined
          : { accessKeyId, secretAccessKey },
      directory: config.MEDIA_DIRECTORY,
    },
    metrics,
  );
};
