import { describe, expect, test } from '@jest/globals';
import { limitsOf, readConfig, securitySmsOf, staffNeedsSecondFactor } from './config.ts';

const read = (env: Record<string, string> = {}) =>
  readConfig({
    PRIVATE_KEY_DIRECTORY: '/keys/private',
    PUBLIC_KEYS_DIRECTORY: '/keys/public',
    OAUTH_SECRET: 'Vd3kq0rXw8nZtY5mBf7pLc2sJh9gUe4a',
    SECOND_FACTOR_KEY: 'hT6zR1vKq9sWx4mCj7bNf2dYpL8gAe3u',
    KAVENEGAR_API_KEY: 'key',
    JOURNAL_DIRECTORY: '/journal',
    MONGODB_URI: 'mongodb://identity:9f2c8d41@db.example/?replicaSet=rs0',
    REDIS_URL: 'rediss://identity:x7k2m9q4@redis.example:6379',
    ...env,
  });

/** Points and window in seconds. */
const figuresOf = (env?: Record<string, string>) =>
  Object.fromEntries(
    Object.entries(limitsOf(read(env))).map(([name, limit]) => [
      name,
      typeof limit === 'object' ? [limit.points, limit.windowS] : limit,
    ]),
  );

describe('the limits', () => {
  test('every limit has the value of the contract by default', () => {
    expect(figuresOf()).toEqual({
      accountCodes: [5, 60],
      countedAnonymousCodes: 2,
      resetsPerAccountAndAddress: [5, 60],
      resetsPerAccount: [20, 60],
      resetsPerAddress: [30, 60],
      anonymousSmsPerPhone: [6, 86_400],
      anonymousSms: [10_000, 86_400],
      signedInSmsPerPhone: [20, 86_400],
      logins: [10, 60],
      failedLogins: [300, 60],
      passwordChecks: [10, 60],
      emailsPerAccount: [30, 86_400],
      emailsPerRecipient: [30, 86_400],
      securityEmailsPerAccount: [20, 86_400],
      securityEmailsPerRecipient: [20, 86_400],
      emailChangeEmails: [3, 86_400],
      wrongSecondFactorCodes: [30, 86_400],
      registrations: [100, 3_600],
      nameChanges: [100, 3_600],
      clientRegistrations: [100, 3_600],
      authorizations: [600, 60],
    });
  });

  test('demonstrations raise only the limits that the contract allows, and production refuses SEED_DEMO', () => {
    expect(figuresOf({ SEED_DEMO: '1' })).toEqual({
      ...figuresOf(),
      signedInSmsPerPhone: [200, 86_400],
      registrations: undefined,
      nameChanges: undefined,
      clientRegistrations: undefined,
      authorizations: undefined,
    });
    expect(() => read({ SEED_DEMO: '1', NODE_ENV: 'production' })).toThrow('SEED_DEMO');
  });

  test('a configured SMS limit applies to demonstrations too', () => {
    const configured = { SMS_SIGNED_IN_PER_PHONE: '20', SEED_DEMO: '1' };
    expect(figuresOf(configured)).toMatchObject({ signedInSmsPerPhone: [20, 86_400] });
  });

  test('no two limits share a name, under which their calls are counted', () => {
    const names = Object.values(limitsOf(read())).flatMap((limit) =>
      typeof limit === 'object' ? [limit.name] : [],
    );
    expect(new Set(names).size).toBe(names.length);
  });

  test.each([
    ['FIRST_ADMINISTRATOR_PASSWORD', 'password123'],
    ['STAFF_SECOND_FACTOR', 'yes'],
    ['SECOND_FACTOR_KEY', 'x'.repeat(31)],
    ['SMS_COUNTRIES', 'Iran'],
    ['SMS_COUNTRIES', 'IR,'],
    ['SMS_ANONYMOUS_DAILY_LIMIT', '0'],
    ['RESETS_PER_ADDRESS', 'many'],
    ['OAUTH_REDIRECT_SCHEMES', 'cursor://'],
    ['OAUTH_REDIRECT_SCHEMES', 'cursor,javascript'],
  ])('the configuration refuses %s with the value %j', (name, value) => {
    expect(() => read({ [name]: value })).toThrow(name);
  });
});

const PRODUCTION = {
  AMQP_URL: 'amqp://identity:Kq3vT9@broker.example',
  PUBLIC_BASE_URL: 'https://api.fitness.example',
};

test.each([
  [{}, 'phone_changed'],
  [{ NODE_ENV: 'test' }, 'phone_changed'],
  [{ SECURITY_SMS: '0' }, 'none'],
  [{ NODE_ENV: 'production' }, 'all'],
  [{ NODE_ENV: 'production', SECURITY_SMS: '0' }, 'none'],
  [{ SECURITY_SMS: '1' }, 'all'],
  [{ NODE_ENV: 'production', SECURITY_SMS: '' }, 'all'],
])('with %j, security notices are sent by SMS as %j', (env, expected) => {
  expect(securitySmsOf(read({ ...PRODUCTION, ...(env as Record<string, string>) }))).toBe(expected);
});

test.each([
  [{}, false],
  [{ NODE_ENV: 'test' }, false],
  [{ STAFF_SECOND_FACTOR: 'required' }, true],
  [{ NODE_ENV: 'production' }, true],
  [{ NODE_ENV: 'production', STAFF_SECOND_FACTOR: '' }, true],
  [{ NODE_ENV: 'production', STAFF_SECOND_FACTOR: 'optional' }, false],
])('with %j, the second factor of staff is required: %j', (env, expected) => {
  expect(staffNeedsSecondFactor(read({ ...PRODUCTION, ...(env as Record<string, string>) }))).toBe(expected);
});
