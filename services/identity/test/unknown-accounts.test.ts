/** Known and unknown accounts cause the same commands, so that response times do not reveal which accounts exist. */
import { GUEST } from '@fitness/shared/kernel/caller.ts';
import type { RateLimiter } from '@fitness/shared/kernel/rate-limit.ts';
import { connectMongo } from '@fitness/shared/mongo/connect.ts';
import { ensureIndexes } from '@fitness/shared/mongo/indexes.ts';
import { inTransaction } from '@fitness/shared/mongo/transaction.ts';
import { dropDatabase } from '@fitness/shared/testing/harness.ts';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import mongoose, { type Connection } from 'mongoose';
import { newMember } from '../src/app/accounts/register.ts';
import { createResetPassword } from '../src/app/sign-in/reset-password.ts';
import { createSignIn } from '../src/app/sign-in/sign-in.ts';
import { createTakeReset } from '../src/app/sign-in/take-reset.ts';
import { createPasswords, type Passwords } from '../src/clients/passwords.ts';
import { limitsOf } from '../src/config.ts';
import { issueCode } from '../src/domain/confirmation-code.ts';
import { createCodes } from '../src/store/codes.ts';
import { createUsers } from '../src/store/users.ts';
import { identityConfig, revocations } from './support.ts';

const config = identityConfig();
const now = new Date('2026-01-01T00:00:00Z');
const existing = {
  username: 'somebody',
  email: 'somebody@example.org',
  phone: '+989120000001',
  first_name: 'A',
  last_name: 'B',
};
let connection: Connection;
let sent: string[] = [];
let counted: string[] = [];
let users: ReturnType<typeof createUsers>;
let codes: ReturnType<typeof createCodes>;

beforeAll(async () => {
  await (await connectMongo({ uri: config.MONGODB_URI, database: config.MONGODB_DATABASE })).close();
  connection = await mongoose
    .createConnection(config.MONGODB_URI, {
      dbName: config.MONGODB_DATABASE,
      monitorCommands: true,
      autoIndex: false,
      autoCreate: false,
    })
    .asPromise();
  users = createUsers(connection, revocations);
  codes = createCodes(connection);
  await ensureIndexes(connection);
  await inTransaction(connection, (session) =>
    users.insert(
      session,
      newMember({
        id: 1,
        person: existing,
        passwordHash: 'hash',
        referralCode: 'CODE1',
        referrerId: null,
        createdAt: now,
      }),
    ),
  );
  connection.getClient().on('commandStarted', ({ commandName, command }) => {
    sent.push(`${commandName} ${command[commandName]}`);
  });
});
afterAll(async () => {
  await connection.close();
  await dropDatabase(config);
});

const commandsOf = async (work: () => Promise<unknown>): Promise<string[]> => {
  sent = [];
  await work();
  return sent;
};

const QUEUE_MS = 60_000;
const ADDRESS = '192.0.2.1';

const fakeLimiter = (allowed: boolean): RateLimiter => {
  const take: RateLimiter['consume'] = async ({ name }, key) => {
    counted.push(`${name} ${key}`);
    return { allowed, limit: 5, remaining: 0, resetS: 60 };
  };
  return { consume: take, peek: take, giveBack: async () => undefined };
};

let hashed = 0;
const reset = (login: string, { allowed = true } = {}) => {
  const takeReset = createTakeReset({ limiter: fakeLimiter(allowed), limits: limitsOf(config) });
  const hash = async (): Promise<string> => {
    hashed += 1;
    return 'hash';
  };
  const dependencies = {
    ...{ store: { users, codes }, takeReset, clock: { now: () => now }, passwords: { hash } },
    networkHash: () => 'network',
  };
  const { reset: run } = createResetPassword(
    dependencies as unknown as Parameters<typeof createResetPassword>[0],
  );
  const client = { caller: GUEST, locale: 'en', clientAddress: ADDRESS };
  return expect(run({ login, code: '00000000', password: 'a new password' }, client)).rejects.toMatchObject({
    fields: { code: expect.anything() },
  });
};

describe('finding an account by its login', () => {
  test('finding a login causes the same commands whether or not the account exists', async () => {
    const commands = await commandsOf(async () =>
      expect(await users.findByLogin(existing.username)).toMatchObject(existing),
    );
    const missing = await commandsOf(async () => expect(await users.findByLogin('nobody')).toBeNull());
    expect(commands).toEqual(['find login_keys', 'find users']);
    expect(missing).toEqual(commands);
  });
});

describe('a refused sign-in', () => {
  let verifications = 0;
  const signIn = async (login: string): Promise<void> => {
    const passwords = await createPasswords(QUEUE_MS);
    const counted: Passwords = {
      hash: (...args) => passwords.hash(...args),
      verify: (...args) => {
        verifications += 1;
        return passwords.verify(...args);
      },
      verifyDummy: (...args) => {
        verifications += 1;
        return passwords.verifyDummy(...args);
      },
    };
    const dependencies = {
      store: { users },
      passwords: counted,
      limiter: fakeLimiter(true),
      limits: limitsOf(config),
    } as unknown as Parameters<typeof createSignIn>[0];
    const client = { address: ADDRESS, userAgent: undefined };
    const credentials = { login, password: 'not the password', totp: undefined, client };
    const signIn = createSignIn(dependencies);
    const match = await signIn.consumeLimit(login, ADDRESS);
    await expect(signIn.signIn({ ...credentials, match })).rejects.toMatchObject({
      fields: { login: expect.anything() },
    });
  };

  test('a refused sign-in causes the same commands and one password check for any login', async () => {
    const passwordHash = await (await createPasswords(QUEUE_MS)).hash('its password', ADDRESS);
    await inTransaction(connection, (session) => users.setPassword(session, 1, passwordHash));
    const commands = await commandsOf(() => signIn(existing.username));
    expect(verifications).toBe(1);
    const missing = await commandsOf(() => signIn('nobody'));
    expect(verifications).toBe(2);
    expect(commands).toEqual(['find login_keys', 'find users']);
    expect(missing).toEqual(commands);
  });

  test('a refused sign-in costs similar processor time whether or not the account exists', async () => {
    const passwords = await createPasswords(QUEUE_MS);
    const passwordHash = await passwords.hash('its password', ADDRESS);
    const costOf = async (work: () => Promise<boolean>): Promise<number> => {
      const before = process.cpuUsage();
      expect(await work()).toBe(false);
      const { user, system } = process.cpuUsage(before);
      return user + system;
    };
    // The minimum of ten measurements, because other work of the process makes single ones larger.
    const [real, dummy] = [{ us: Number.POSITIVE_INFINITY }, { us: Number.POSITIVE_INFINITY }];
    for (let round = 0; round < 10; round += 1) {
      const verify = () => passwords.verify(passwordHash, 'not the password', ADDRESS);
      const verifyDummy = () => passwords.verifyDummy('not the password', ADDRESS);
      real.us = Math.min(real.us, await costOf(verify));
      dummy.us = Math.min(dummy.us, await costOf(verifyDummy));
    }
    expect(dummy.us / real.us).toBeGreaterThan(0.5);
    expect(dummy.us / real.us).toBeLessThan(2);
    // At least the cost of a real password hash, so that neither side takes a shortcut.
    expect(dummy.us).toBeGreaterThan(2_000);
  });
});

describe('a refused password reset', () => {
  test('a refused reset causes the same commands for any account, code and rate limit', async () => {
    hashed = 0;
    const commands = await commandsOf(() => reset(existing.username));
    expect(commands).toContain('findAndModify confirmation_codes');
    expect(await commandsOf(() => reset('nobody'))).toEqual(commands);
    expect(await commandsOf(() => reset('nobody', { allowed: false }))).toEqual(commands);
    expect(await commandsOf(() => reset(existing.username, { allowed: false }))).toEqual(commands);
    await codes.replace(1, 'reset', issueCode('c', '12345678', now));
    expect(await commandsOf(() => reset(existing.username))).toEqual(commands);
    // One password hash for each call.
    expect(hashed).toBe(5);
  });

  test('a refused reset counts for the same limits, with one key for all spellings of any login', async () => {
    const countedFor = async (login: string): Promise<string[]> => {
      counted = [];
      await reset(login);
      return counted;
    };
    const byUsername = await countedFor(existing.username);
    expect(byUsername).toEqual([
      'resets-address 192.0.2.1',
      'resets-account-address user:1:192.0.2.1',
      'resets-account user:1',
      'anonymous-codes user:1:1',
      'account-codes user:1',
    ]);
    for (const login of [existing.email.toUpperCase(), existing.phone.replace('+98', '0')]) {
      expect(await countedFor(login)).toEqual(byUsername);
    }
    const unknown = await countedFor('Nobody@Example.org');
    expect(unknown.map((entry) => entry.split(' ')[0])).toEqual(
      byUsername.map((entry) => entry.split(' ')[0]),
    );
    expect(await countedFor('nobody@example.ORG ')).toEqual(unknown);
    expect(unknown.join()).not.toContain('nobody');
    expect(await countedFor('somebody.else')).not.toEqual(unknown);
  });
});
