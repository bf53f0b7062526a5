/** Accounts of the demo data. An account that its user has changed is not modified. */
import type { Schemas } from '@fitness/client';
import { DEMO_PASSWORD } from '@fitness/shared/kernel/known-values.ts';
import type { Logger } from '@fitness/shared/kernel/log.ts';
import type { DemoApi } from './api.ts';
import type { Person } from './people.ts';

export type Account = Schemas['SignedIn'];

/** Undefined if the API refuses the values. */
const enter = async (
  api: DemoApi,
  path: string,
  body: Record<string, unknown>,
): Promise<Account | undefined> => {
  const { status, body: account } = await api.send('POST', path, { body });
  if (status === 200 || status === 201) return account as Account;
  if (status === 422) return undefined;
  throw new Error(`${path} answered ${status}`);
};

/** Signs in. Returns undefined for a wrong password. */
export const signIn = (api: DemoApi, login: string, password: string): Promise<Account | undefined> =>
  enter(api, '/auth/login', { login, password });

/**
 * Registers the person, or signs in if the account exists. Returns undefined for an account that must not be
 * modified: it is complete, its password was changed, or its deletion is pending.
 */
export const registerOrSignIn = async (
  api: DemoApi,
  log: Logger,
  person: Person,
): Promise<Account | undefined> => {
  const account = (await register(api, person)) ?? (await signIn(api, person.username, DEMO_PASSWORD));
  const isChanged = account === undefined || (account.user.deletion_requested_at ?? null) !== null;
  if (isChanged)
    log.info({ account: person.username }, 'this demo account was changed by its user; it is not modified');
  return isChanged || account.user.height !== null ? undefined : account;
};

/** Returns undefined if the username, email address or phone is taken. */
const register = (api: DemoApi, { height: _last, ...person }: Person): Promise<Account | undefined> =>
  enter(api, '/auth/register', {
    ...person,
    email: `${person.username}@example.com`,
    password: DEMO_PASSWORD,
  });

export const updateProfile = async (
  api: DemoApi,
  { token }: Account,
  changes: Record<string, unknown>,
): Promise<void> => {
  await api.read('PUT', '/auth/me', { token, body: changes });
};

/** The height marks a complete account. */
export const markComplete = async (
  api: DemoApi,
  account: Account,
  { height }: Person,
  changes: Record<string, unknown> = {},
): Promise<void> => updateProfile(api, account, { ...changes, height });
