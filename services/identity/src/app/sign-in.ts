/** Signing in. The response and its time are the same for a wrong password and for an unknown account. */
import { type AppError, invalid, message, unavailable } from '@fitness/shared/kernel/error.ts';
import { type RateLimitState, rateLimited } from '@fitness/shared/kernel/rate-limit.ts';
import type { ClientSession } from '@fitness/shared/mongo/connect.ts';
import type { Dependencies } from '../dependencies.ts';
import type { Client } from '../domain/client.ts';
import type { User } from '../domain/user.ts';
import type { CheckSecondFactor } from './check-second-factor.ts';
import type { NewSessionToken, Session } from './new-session-token.ts';
import { accountLimitKey } from './rate-limits.ts';

interface SignInDependencies extends Pick<Dependencies, 'store' | 'passwords' | 'limiter' | 'limits'> {
  newSessionToken: NewSessionToken;
  checkSecondFactor: CheckSecondFactor;
}

interface Credentials {
  login: string;
  password: string;
  /** A code of the second factor, or a recovery code. */
  totp: string | undefined;
  client: Client;
}

export interface SignIn {
  /**
   * Consumes one attempt at the account from this address, by whichever of its names. 429 when none is left, or after
   * too many failures of the address over all accounts.
   */
  consumeLimit(login: string, clientAddress: string): Promise<RateLimitState>;
  /**
   * 422 under `login` when login and password do not match, and under `totp` when they do and a second factor is set up
   * whose code is missing, wrong or used; 429. Issues no token.
   */
  authenticate(credentials: Credentials): Promise<User>;
  /** As `authenticate`, and issues a token. Also while a deletion is pending. */
  signIn(credentials: Credentials): Promise<Session>;
}

/** Attempts to sign in while the account's credentials or its second factor are being changed. */
const MAX_ATTEMPTS = 5;

export const createSignIn = (dependencies: SignInDependencies): SignIn => {
  const { store, passwords, limiter, limits, newSessionToken, checkSecondFactor } = dependencies;

  const assertAllowed = (state: RateLimitState): RateLimitState => {
    if (!state.allowed) throw rateLimited(state);
    return state;
  };

  const findByPassword = async ({ login, password, client }: Credentials): Promise<User> => {
    const clientAddress = client.address;
    const user = await store.users.findByLogin(login);
    const matches =
      user === null
        ? await passwords.verifyDummy(password, clientAddress)
        : await passwords.verify(user.password_hash, password, clientAddress);
    if (user === null || !matches) {
      assertAllowed(await limiter.consume(limits.failedLogins, clientAddress));
      throw wrongLogin();
    }
    // Of concurrent guesses no more than the limit are answered, not even a right one.
    assertAllowed(await limiter.peek(limits.failedLogins, clientAddress));
    return user;
  };

  /** Verifies all factors, then uses the code in the transaction of `work`. */
  const withProof = async <T>(
    credentials: Credentials,
    work: (session: ClientSession, user: User) => Promise<T>,
  ): Promise<T> => {
    for (let attempt = 1; attempt <= MAX_ATTEMPTS; attempt += 1) {
      const user = await findByPassword(credentials);
      const proof = await checkSecondFactor.verify(user._id, credentials.totp);
      try {
        return await store.transaction(async (session) => {
          const result = await work(session, user);
          if (!(await checkSecondFactor.redeem(session, user._id, proof))) throw new Outdated();
          return result;
        });
      } catch (error) {
        // Verified again: the password may be another one, and the code may be used.
        if (!(error instanceof Outdated)) throw error;
      }
    }
    throw unavailable('the credentials of an account were changed during every attempt');
  };

  return {
    consumeLimit: async (login, clientAddress) => {
      assertAllowed(await limiter.peek(limits.failedLogins, clientAddress));
      const user = await store.users.findByLogin(login);
      const account = accountLimitKey(login, user?._id);
      return assertAllowed(await limiter.consume(limits.logins, `${account}:${clientAddress}`));
    },

    authenticate: (credentials) => withProof(credentials, async (_session, user) => user),

    signIn: (credentials) =>
      withProof(credentials, async (session, user) => {
        const { token, row } = await newSessionToken(user._id, credentials.client);
        if (!(await store.tokens.insert(session, row, user.credential_epoch))) throw new Outdated();
        const current = await store.users.find(user._id, session);
        if (current === null) throw new Outdated();
        return { token, expiresAt: row.expires_at, user: current };
      }),
  };
};

/** The credentials of the account or its second factor were changed after they were verified. */
class Outdated extends Error {
  override name = 'Outdated';
}

const wrongLogin = (): AppError => invalid({ login: message('auth.wrong_login') });
