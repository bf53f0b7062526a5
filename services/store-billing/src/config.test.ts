import { describe, expect, test } from '@jest/globals';
import { readConfig } from './config.ts';

const keys = { PRIVATE_KEY_DIRECTORY: '/keys/private', PUBLIC_KEYS_DIRECTORY: '/keys/public' };
const read = (env: Record<string, string> = {}) =>
  readConfig({ ...keys, CAFEBAZAAR_API_SECRET: 's', ...env });

describe('the configuration', () => {
  test('the configuration requires only the secrets', () => {
    expect(read()).toMatchObject({
      HTTP_PORT: 8106,
      GRPC_PORT: 9106,
      MONGODB_DATABASE: 'fitness_store_billing',
      STORE_CHANNEL: 'cafebazaar',
      CAFEBAZAAR_BASE_URL: 'https://pardakht.cafebazaar.ir/devapi/v2',
      STORE_TIMEOUT_MS: 4_000,
      PRICE_PREMIUM_PLUS_RIAL: 19_990_000,
      PRICE_BOOST_BASIC_RIAL: 990_000,
      PRICE_BOOST_PRO_RIAL: 1_900_000,
      BOOST_BASIC_DAYS: 7,
      BOOST_PRO_DAYS: 30,
    });
  });

  test.each([
    ['cafebazaar', ['CAFEBAZAAR_API_SECRET']],
    ['myket', ['MYKET_ACCESS_TOKEN']],
    ['google_play', ['GOOGLE_PLAY_CLIENT_EMAIL', 'GOOGLE_PLAY_PRIVATE_KEY']],
  ])('%s requires only its own credentials, named when they are missing', (channel, required) => {
    const without = { ...keys, STORE_CHANNEL: channel };
    for (const name of required) expect(() => readConfig(without)).toThrow(new RegExp(`${name}: is needed`));
    const credentials = Object.fromEntries(required.map((name) => [name, 'x']));
    expect(readConfig({ ...without, ...credentials }).STORE_CHANNEL).toBe(channel);
  });

  test.each([
    ['STORE_CHANNEL', 'direct'],
    ['PRICE_PREMIUM_PLUS_RIAL', '19990005'],
    ['PRICE_BOOST_PRO_RIAL', '0'],
    ['BOOST_BASIC_DAYS', '1.5'],
    ['STORE_TIMEOUT_MS', '0'],
    ['CAFEBAZAAR_BASE_URL', 'nowhere'],
    ['CAFEBAZAAR_PACKAGE', 'a/b'],
  ])('%s=%s is rejected, and the error names the variable', (name, value) => {
    expect(() => read({ [name]: value })).toThrow(new RegExp(name));
  });

  test('the line breaks of a private key may be written as \\n', () => {
    const config = read({
      STORE_CHANNEL: 'google_play',
      GOOGLE_PLAY_CLIENT_EMAIL: 'a@b.example',
      GOOGLE_PLAY_PRIVATE_KEY: 'one\\ntwo',
    });
    expect(config.GOOGLE_PLAY_PRIVATE_KEY).toBe('one\ntwo');
  });
});
