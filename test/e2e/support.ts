/** The product as a client sees it: HTTP through the gateway, and SMS and payments in the sandbox. */
import { randomInt } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { type Client, createClient, RateLimitError, type Schemas, unwrap } from '@fitness/client';
import { type Answer, eventually } from '@fitness/shared/testing/harness.ts';
import { connectStack } from '../../scripts/lib/stack-client.mjs';

const requiredVariable = (name: string): string => {
  const value = process.env[name];
  if (value === undefined) throw new Error(`${name} is not set: run these tests by \`npm test\``);
  return value;
};

export const baseUrl = (): string => requiredVariable('E2E_BASE_URL');

/** One transparent pixel. */
export const PNG = Buffer.from(
  'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==',
  'base64',
);
export const sandboxUrl = (): string => requiredVariable('E2E_SANDBOX_URL');
export const stack = connectStack;

/** Points the functions of this file at another product until the returned function is called. Files of one process share its environment. */
export const useProduct = ({ url, sandboxUrl: sandboxOrigin }: { url: string; sandboxUrl: string }) => {
  const before = { E2E_BASE_URL: process.env.E2E_BASE_URL, E2E_SANDBOX_URL: process.env.E2E_SANDBOX_URL };
  Object.assign(process.env, { E2E_BASE_URL: url, E2E_SANDBOX_URL: sandboxOrigin });
  return (): void => {
    Object.assign(process.env, before);
  };
};

export interface SendOptions {
  token?: string | undefined;
  body?: unknown;
  headers?: Record<string, string>;
}

const request = async (
  url: string,
  method: string,
  { token, body, headers = {} }: SendOptions,
): Promise<Answer> => {
  const response = await fetch(url, {
    method,
    redirect: 'manual',
    headers: {
      ...(token === undefined ? {} : { authorization: `Bearer ${token}` }),
      ...(body === undefined ? {} : { 'content-type': 'application/json' }),
      ...headers,
    },
    ...(body === undefined ? {} : { body: typeof body === 'string' ? body : JSON.stringify(body) }),
  });
  const text = await response.text();
  const isJson = response.headers.get('content-type')?.includes('json') === true;
  return {
    status: response.status,
    headers: response.headers,
    text,
    body: isJson ? JSON.parse(text) : undefined,
  };
};

/** The client library for apps. It does not retry requests here, because a 503 is a finding. */
export const clientOf = (token?: string): Client => createClient({ baseUrl: baseUrl(), token, retries: 0 });

/** Sends any request, even one that no client makes. `path` is below `/api/v1`. */
export const api = (method: string, path: string, options: SendOptions = {}): Promise<Answer> =>
  request(`${baseUrl()}/api/v1${path}`, method, options);

export const sandbox = (method: string, path: string, body?: unknown): Promise<Answer> =>
  request(`${sandboxUrl()}/_sandbox${path}`, method, body === undefined ? {} : { body });

export const expectStatus = (answer: Answer, status: number): Answer => {
  if (answer.status !== status) throw new Error(`expected ${status}, got ${answer.status}: ${answer.text}`);
  return answer;
};

export const PASSWORD = 'correct-horse-battery';

export interface Account {
  id: number;
  username: string;
  phone: string;
  email: string;
  token: string;
}

// The demo accounts have the smallest numbers.
let lastDigits = randomInt(1_000_000, 9_000_000);

/** Starts at a random number and counts up, so two numbers of one process never collide. */
export const sevenDigits = (): string => {
  lastDigits += 1;
  return String(lastDigits);
};

/** A new member with random names and numbers, so tests can be repeated on the same data. */
export const register = async (fields: Record<string, unknown> = {}): Promise<Account> => {
  const suffix = `${process.hrtime.bigint().toString(36)}${randomInt(1_000)}`;
  const phone = `+98912${sevenDigits()}`;
  const body = {
    username: `u${suffix}`,
    email: `u${suffix}@example.com`,
    phone,
    password: PASSWORD,
    first_name: 'Sara',
    last_name: 'Ahmadi',
    ...fields,
  };
  const { user, token } = await unwrap(
    clientOf().POST('/api/v1/auth/register', { body: body as Schemas['PostAuthRegisterRequest'] }),
  );
  const { id, username, email = '' } = user;
  return { id, username, email, phone: user.phone ?? '', token };
};

export const login = async (username: string, password = PASSWORD): Promise<Answer> =>
  api('POST', '/auth/login', { body: { login: username, password } });

export const tokenOf = async (username: string, password = PASSWORD): Promise<string> =>
  (await clientOf().login({ login: username, password })).token;

type DemoAccount = 'administrator' | 'operator';
/** Tokens by product and account. */
const demoTokens = new Map<string, Promise<string>>();

const demoLogin = async (username: DemoAccount): Promise<string> => {
  try {
    return await tokenOf(username, 'demo-password-1');
  } catch (error) {
    if (!(error instanceof RateLimitError) || error.retryAfterSeconds === undefined) throw error;
    await sleep(error.retryAfterSeconds * 1_000);
    return demoLogin(username);
  }
};

/**
 * All test files share these accounts, each of which allows ten sign-ins a minute. A process therefore signs in
 * once, and waits if others have used up the limit.
 */
const demoToken = (username: DemoAccount): Promise<string> => {
  const key = `${baseUrl()} ${username}`;
  const token = demoTokens.get(key) ?? demoLogin(username);
  demoTokens.set(key, token);
  return token;
};

export const administratorToken = (): Promise<string> => demoToken('administrator');
export const operatorToken = (): Promise<string> => demoToken('operator');

export interface Sms {
  message: string;
  receptor: string;
  code: string;
}

export const smsOf = async (phone: string): Promise<Sms[]> =>
  (await sandbox('GET', `/sms?receptor=${encodeURIComponent(phone)}`)).body.data;

export const newestCode = async (phone: string): Promise<string> => {
  const [newest] = await smsOf(phone);
  if (newest === undefined) throw new Error(`no SMS to ${phone}`);
  return newest.code;
};

export const arm = (account: Account, options: SendOptions = {}): Promise<Answer> =>
  api('POST', '/auth/delete-account', {
    token: account.token,
    body: { current_password: PASSWORD },
    ...options,
  });

export const commit = (account: Account, code: string, options: SendOptions = {}): Promise<Answer> =>
  api('POST', '/auth/delete-account', {
    token: account.token,
    body: { current_password: PASSWORD, confirmation_code: code },
    ...options,
  });

/**
 * Waits until a code can be requested from every replica, since each reconnects to the broker independently. A test that stops
 * RabbitMQ ends with this call, so the next one finds a working product.
 */
export const untilCodesAreSent = async (): Promise<void> => {
  const needed = 4 * (stack().replicas('identity').length - 1) + 1;
  let inARow = 0;
  const isBack = async (): Promise<boolean> => {
    inARow = (await arm(await register())).status === 200 ? inARow + 1 : 0;
    return inARow >= needed;
  };
  await eventually(isBack, { intervalMs: 100 });
};

/** Performs both phases of delete-account. */
export const scheduleDeletion = async (account: Account): Promise<Answer> => {
  expectStatus(await arm(account), 200);
  return expectStatus(await commit(account, await newestCode(account.phone)), 202);
};

/** Makes a deposit that is paid at the bank gateway. */
export const deposit = async (token: string, amount: number): Promise<void> => {
  const opening = clientOf(token).POST('/api/v1/payments/deposit', { body: { amount } });
  const trackId = new URL((await unwrap(opening)).payment_url).pathname.split('/').at(-1);
  const paid = await sandbox('POST', `/zibal/${trackId}/pay`);
  const callback = paid.headers.get('location');
  if (callback === null) throw new Error(`the payment was not taken: ${paid.text}`);
  const back = await request(callback, 'GET', {});
  if (back.status !== 200 && back.status !== 302) throw new Error(`the callback failed: ${back.text}`);
};

export const balanceOf = async (token: string): Promise<number> =>
  (await unwrap(clientOf(token).GET('/api/v1/payments/balance'))).balance;

export { eventually };
