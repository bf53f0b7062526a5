/** Entering as one of the demo data's people, and leaving alone whom somebody has changed since. */
import type { Logger } from '@fitness/shared/log.ts';
import { z } from 'zod';
import type { DemoApi } from './api.ts';
import { DEMO_PASSWORD, type Person } from './people.ts';

const userSchema = z.object({
  id: z.int(),
  height: z.int().nullable(),
  deletion_requested_at: z.string().nullable().optional(),
  roles: z.array(z.object({ name: z.string() })).default([]),
});

const signedInSchema = z.object({ token: z.string(), user: userSchema });

export type Account = z.output<typeof signedInSchema>;

/** Undefined when the password is not (or no longer) this one. */
export const signIn = async (api: DemoApi, login: string, password: string): Promise<Account | undefined> => {
  const answer = await api.send('POST', '/auth/login', { body: { login, password } });
  if (answer.status === 200) return signedInSchema.parse(answer.body);
  if (answer.status === 422) return undefined;
  throw new Error(`signing in as ${login} answered ${answer.status}`);
};

/**
 * Registered, or signed in when there is such an account. Undefined for an account that is to be left alone: its story
 * is told already, its log-in was changed, or its deletion was asked for.
 */
export const enter = async (api: DemoApi, log: Logger, person: Person): Promise<Account | undefined> => {
  const account = (await register(api, person)) ?? (await signIn(api, person.username, DEMO_PASSWORD));
  const isLeftAlone = account === undefined || (account.user.deletion_requested_at ?? null) !== null;
  if (isLeftAlone) log.info({ account: person.username }, 'this demo account was changed; it is left alone');
  return isLeftAlone || account.user.height !== null ? undefined : account;
};

const register = async (api: DemoApi, { height: _last, ...person }: Person): Promise<Account | undefined> => {
  const body = { ...person, email: `${person.username}@example.com`, password: DEMO_PASSWORD };
  const answer = await api.send('POST', '/auth/register', { body });
  if (answer.status === 201) return signedInSchema.parse(answer.body);
  // Its user name, e-mail or phone is taken already.
  if (answer.status === 422) return undefined;
  throw new Error(`registering ${person.username} answered ${answer.status}`);
};

export const updateProfile = async (
  api: DemoApi,
  { token }: Account,
  changes: Record<string, unknown>,
): Promise<void> => {
  await api.read(z.looseObject({}), 'PUT', '/auth/me', { token, body: changes });
};

/** Says that the account has its whole story. */
export const finish = async (
  api: DemoApi,
  account: Account,
  { height }: Person,
  changes: Record<string, unknown> = {},
): Promise<void> => updateProfile(api, account, { ...changes, height });
