import { DEMO_APP } from '@fitness/shared/kernel/known-values.ts';
import { describe, expect, test } from '@jest/globals';
import { readConfig } from './config.ts';

const needed = { PRIVATE_KEY_DIRECTORY: '/keys/private', PUBLIC_KEYS_DIRECTORY: '/keys/public' };
const app = { APP_NAME: 'Fit', APP_DEVELOPER: 'Fit Ltd.' };
const production = {
  ...needed,
  ...app,
  NODE_ENV: 'production',
  PUBLIC_BASE_URL: 'https://api.fitness.example',
  REDIS_URL: 'rediss://gateway:x7k2m9q4@redis.example:6379',
};

describe('readConfig', () => {
  test('every variable except the key directories has a default', () => {
    expect(readConfig(needed)).toMatchObject({
      HTTP_PORT: 8080,
      OPERATIONS_PORT: 8081,
      IDENTITY_GRPC_ADDRESS: '127.0.0.1:9101',
      STORE_BILLING_HTTP_URL: ['http://127.0.0.1:8106'],
      UPSTREAM_TIMEOUT_MS: 30_000,
      OPEN_REQUESTS_LIMIT: 4_096,
      OPEN_UPLOADS_LIMIT: 256,
      BODY_TIMEOUT_MS: 10_000,
      UPLOAD_IDLE_TIMEOUT_MS: 20_000,
      TRUST_PROXY: 0,
      SEED_DEMO: false,
    });
    expect(() => readConfig({})).toThrow('PRIVATE_KEY_DIRECTORY');
  });

  test.each([
    ['SEED_DEMO', 'maybe'],
    ['UPSTREAM_TIMEOUT_MS', '0'],
    ['TRUST_PROXY', 'yes'],
    ['OPEN_REQUESTS_LIMIT', '0'],
    ['OPEN_UPLOADS_LIMIT', 'all'],
    ['BODY_TIMEOUT_MS', '0'],
    ['UPLOAD_IDLE_TIMEOUT_MS', '0'],
    ['ADDRESS_LIMIT_PER_MINUTE', '-1'],
    ['WALLET_HTTP_URL', 'wallet'],
    ['WALLET_HTTP_URL', 'http://wallet:8102/path'],
    ['WALLET_HTTP_URL', 'http://10.0.0.1:8102,https://10.0.0.2:8102'],
    ['WALLET_HTTP_URL', 'http://10.0.0.1:8102,http://wallet-2:8102'],
    ['IDENTITY_GRPC_ADDRESS', 'identity'],
    ['SANDBOX_URL', 'nowhere'],
    ['CORS_ORIGINS', 'app.example.com'],
    ['CORS_ORIGINS', 'https://app.example.com/path'],
    ['CORS_ORIGINS', 'https://a.example.com,*'],
    ['CORS_ORIGINS', 'https://*.fitness.example'],
  ])('the error names an invalid %s', (name, value) => {
    expect(() => readConfig({ ...needed, [name]: value })).toThrow(name);
  });

  test('the replicas of a service are origins separated by commas', () => {
    const WALLET_HTTP_URL = 'http://10.0.0.1:8102/, http://10.0.0.2:8112';
    expect(readConfig({ ...needed, WALLET_HTTP_URL }).WALLET_HTTP_URL).toEqual([
      'http://10.0.0.1:8102',
      'http://10.0.0.2:8112',
    ]);
    expect(() => readConfig({ ...needed, WALLET_HTTP_URL: 'http://10.0.0.1:8102,wallet' })).toThrow(
      'WALLET_HTTP_URL: element 2 must be an origin',
    );
  });

  test('CORS_ORIGINS is `*` or origins separated by commas', () => {
    const { CORS_ORIGINS } = readConfig({
      ...needed,
      CORS_ORIGINS: 'https://a.example.com, http://localhost:3000/',
    });
    expect(CORS_ORIGINS).toEqual(['https://a.example.com', 'http://localhost:3000']);
    expect(readConfig({ ...needed, CORS_ORIGINS: '*' }).CORS_ORIGINS).toBe('*');
  });

  test.each(['APP_NAME', 'APP_DEVELOPER'])('%s is required in production, and is one line', (name) => {
    expect(readConfig(production)).toMatchObject(app);
    const hidden = ['\u200b', '\u3164', '\u202eabc', 'a\nb', 'a\u2028b'];
    for (const value of [undefined, '', ' ', ...hidden, 'x'.repeat(101), 'change-me', 'Demo  Fitness'])
      expect(() => readConfig({ ...production, [name]: value })).toThrow(name);
    expect(readConfig(needed)).toMatchObject({ APP_NAME: DEMO_APP.name, APP_DEVELOPER: DEMO_APP.developer });
    expect(() => readConfig({ ...production, APP_NAME: DEMO_APP.name })).toThrow('APP_NAME');
  });

  test('demo accounts with a known password are refused in production', () => {
    expect(() => readConfig({ ...production, SEED_DEMO: '1' })).toThrow('SEED_DEMO');
    expect(readConfig({ ...production, SEED_DEMO: '0' }).SEED_DEMO).toBe(false);
    expect(readConfig(production).SEED_DEMO).toBe(false);
  });

  test('in production, CORS_ORIGINS is neither `*` nor an origin without TLS', () => {
    for (const origins of ['*', 'http://app.fitness.example', 'https://app.example.com']) {
      expect(() => readConfig({ ...production, CORS_ORIGINS: origins })).toThrow('CORS_ORIGINS: ');
    }
    const origins = 'https://app.fitness.example,https://localhost';
    expect(readConfig({ ...production, CORS_ORIGINS: origins }).CORS_ORIGINS).toHaveLength(2);
  });
});
