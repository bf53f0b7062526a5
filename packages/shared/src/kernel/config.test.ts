import { describe, expect, test } from '@jest/globals';
import { z } from 'zod';
import { ConfigError, databaseOf, grpcAddresses, parseConfig, serviceShape } from './config.ts';

const keys = { PRIVATE_KEY_DIRECTORY: '/keys/private', PUBLIC_KEYS_DIRECTORY: '/keys/public' };
const schema = z.object({ ...serviceShape('store-billing', 8106), ...grpcAddresses });

const read = (env: Record<string, string | undefined>) => parseConfig(schema, { ...keys, ...env });

const problemOf = (env: Record<string, string | undefined>): string => {
  try {
    read(env);
  } catch (error) {
    expect((error as Error).name).toBe(new ConfigError().name);
    return (error as Error).message;
  }
  throw new Error('it was accepted');
};

test('every variable except the key directories has a default', () => {
  expect(read({})).toMatchObject({
    NODE_ENV: 'development',
    HTTP_PORT: 8106,
    GRPC_PORT: 9106,
    MONGODB_DATABASE: 'fitness_store_billing',
    EVENTS_NAMESPACE: 'fitness',
    WALLET_GRPC_ADDRESS: '127.0.0.1:9102',
  });
});

test('the environment overrides defaults, and an empty value is treated as unset', () => {
  const config = read({ HTTP_PORT: '0', GRPC_PORT: '', HOST: '::', PUBLIC_BASE_URL: 'https://api.example/' });
  expect(config).toMatchObject({
    HTTP_PORT: 0,
    GRPC_PORT: 9106,
    HOST: '::',
    PUBLIC_BASE_URL: 'https://api.example',
  });
});

describe('an invalid value is named in one line', () => {
  test.each([
    ['HTTP_PORT', 'eighty'],
    ['HTTP_PORT', '-1'],
    ['HTTP_PORT', '65536'],
    ['GRPC_PORT', '80.5'],
    ['NODE_ENV', 'prod'],
    ['LOG_LEVEL', 'loud'],
    ['MONGODB_URI', 'postgres://localhost'],
    ['MONGODB_DATABASE', 'a b'],
    ['REDIS_URL', 'localhost'],
    ['REDIS_URL', 'redis+sentinel://localhost:26379/fitness'],
    ['REDIS_URL', 'redis://one:6379,other:6379'],
    ['AMQP_URL', 'http://localhost'],
    ['EVENTS_NAMESPACE', 'Fitness!'],
    ['PUBLIC_BASE_URL', 'here'],
    ['WALLET_GRPC_ADDRESS', 'wallet'],
    ['WALLET_GRPC_ADDRESS', 'http://wallet:9102'],
    ['WALLET_GRPC_ADDRESS', 'wallet:65536'],
    ['WALLET_GRPC_ADDRESS', '[wallet]:9102'],
    ['WALLET_GRPC_ADDRESS', '10.0.0.1:9102,'],
    ['WALLET_GRPC_ADDRESS', '10.0.0.1:9102,[::1]:9102'],
  ])('the invalid value %s=%s is named in one line', (name, value) => {
    const problem = problemOf({ [name]: value });
    expect(problem).toMatch(new RegExp(`^Wrong configuration: ${name}: .+$`));
  });

  test('all invalid variables are named at once, without their values', () => {
    const problem = problemOf({
      MONGODB_URI: 'swordfish',
      HTTP_PORT: 'eighty',
      REDIS_URL: 'localhost',
    });
    for (const name of ['MONGODB_URI', 'HTTP_PORT', 'REDIS_URL']) expect(problem).toContain(name);
    expect(problem).not.toMatch(/swordfish|\n/);
  });

  test.each(Object.keys(keys))('a missing %s is named in one line', (name) => {
    expect(problemOf({ [name]: undefined })).toContain(`${name}: is missing`);
  });
});

describe('the addresses of replicas', () => {
  test.each([
    ['wallet:9102', 'wallet:9102'],
    ['10.0.0.1:9102, 10.0.0.2:9112', '10.0.0.1:9102,10.0.0.2:9112'],
    ['[fd00::1]:9102,[fd00::2]:9102', '[fd00::1]:9102,[fd00::2]:9102'],
  ])('replica addresses are one name, or IP addresses separated by commas: %s', (value, list) => {
    expect(read({ WALLET_GRPC_ADDRESS: value }).WALLET_GRPC_ADDRESS).toBe(list);
  });

  test.each([
    ['10.0.0.1:9102,wallet', 'element 2 must be host:port'],
    ['10.0.0.1:9102,wallet-2:9102', 'element 2 must have an IP address'],
    ['10.0.0.1:9102,10.0.0.1:9102', 'element 2 appears twice'],
    ['10.0.0.1:9102,[fd00::1]:9102', 'all elements must have the same address family'],
  ])('each replica address is checked: %s', (value, problem) => {
    expect(problemOf({ WALLET_GRPC_ADDRESS: value })).toContain(
      `Wrong configuration: WALLET_GRPC_ADDRESS: ${problem}`,
    );
  });
});

describe('the database of a service, for a command', () => {
  test.each([
    [{}, 'fitness_store_billing'],
    [{ STORE_BILLING_MONGODB_DATABASE: 'own' }, 'own'],
    [{ MONGODB_DATABASE: 'fitness_store_billing' }, 'fitness_store_billing'],
    [{ MONGODB_DATABASE: 'own', STORE_BILLING_MONGODB_DATABASE: 'own' }, 'own'],
    [{ MONGODB_DATABASE: '', STORE_BILLING_MONGODB_DATABASE: '' }, 'fitness_store_billing'],
  ])('the environment %j selects the database %s', (env: Record<string, string>, database) => {
    expect(databaseOf('store-billing', env)).toBe(database);
  });

  test.each([
    { MONGODB_DATABASE: 'fitness_wallet' },
    { MONGODB_DATABASE: 'fitness_store_billing', STORE_BILLING_MONGODB_DATABASE: 'own' },
  ])('an environment that names two databases is refused: %j', (env: Record<string, string>) => {
    expect(() => databaseOf('store-billing', env)).toThrow('STORE_BILLING_MONGODB_DATABASE');
  });
});
