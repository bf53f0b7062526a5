import { describe, expect, test } from '@jest/globals';
import { readConfig } from './config.ts';

const keys = { PRIVATE_KEY_DIRECTORY: '/keys/private', PUBLIC_KEYS_DIRECTORY: '/keys/public' };

describe('files on a local disk', () => {
  test('are for one replica: more do not start', () => {
    expect(readConfig({ ...keys, MEDIA_STORAGE: 'local', MEDIA_REPLICAS: '1' }).MEDIA_REPLICAS).toBe(1);
    expect(() => readConfig({ ...keys, MEDIA_STORAGE: 'local', MEDIA_REPLICAS: '2' })).toThrow(
      'MEDIA_STORAGE: local is for one replica, and MEDIA_REPLICAS says more; s3 is for several',
    );
  });

  test('are not what several replicas with a bucket have', () => {
    const config = readConfig({
      ...keys,
      MEDIA_STORAGE: 's3',
      MEDIA_S3_BUCKET: 'files',
      MEDIA_REPLICAS: '20',
    });
    expect(config).toMatchObject({ MEDIA_STORAGE: 's3', MEDIA_REPLICAS: 20 });
  });
});
