import { describe, expect, test } from '@jest/globals';
import { readConfig } from './config.ts';

const keys = { PRIVATE_KEY_DIRECTORY: '/keys/private', PUBLIC_KEYS_DIRECTORY: '/keys/public' };

describe('replicas and storage', () => {
  test('local files allow one replica, and more do not start', () => {
    expect(readConfig({ ...keys, MEDIA_STORAGE: 'local', MEDIA_REPLICAS: '1' }).MEDIA_REPLICAS).toBe(1);
    expect(() => readConfig({ ...keys, MEDIA_STORAGE: 'local', MEDIA_REPLICAS: '2' })).toThrow(
      'MEDIA_STORAGE: local is for one replica, and MEDIA_REPLICAS says more; s3 is for several',
    );
  });

  test('files in a bucket allow several replicas', () => {
    const config = readConfig({
      ...keys,
      MEDIA_STORAGE: 's3',
      MEDIA_S3_BUCKET: 'files',
      MEDIA_REPLICAS: '20',
    });
    expect(config).toMatchObject({ MEDIA_STORAGE: 's3', MEDIA_REPLICAS: 20 });
  });
});
