/** Signing in. The response and its time are the same for a wrong password and for an unknown account. */
import { type AppError, invalid, message, unavailable } from '@fitness/shared/kernel/error.ts';
import { type RateLimitState, rateLimited } from '@fitness/shared/kernel/rate-limit.ts';
import type { Dependencies } from '../dependencies.ts';
import type { Client } from '../domain/client.ts';
import type { User } from '../domain/user.ts';
import type { NewSessionToken, Session } from './new-session-token.ts';
import { accountLimitKey } from './rate-limits.ts';

interface SignInDependencies extends Pick<Dependencies, 'store' | 'passwords' | 'limiter' | 'limits'> {
  newSessionToken: NewSessionToken;
}

interface Credentials {
  login: string;
  password: string;
  client: Client;
}

export interface SignIn {
  /**
   * Consumes one attempt at the account from this address, by whichever of its names. 429 when none is left, or after
   * too many failures of the address over all accounts.
   */
  consumeLimit(login: string, clientAddress: string): Promise<RateLimitState>;
  /** 422 under `login` when login and password do not match; 429. Issues no token. */
  authenticate(credentials: Credentials): Promise<User>;
  /** As `authenticate`, and issues a token. Also while a deletion is pending. */
  signIn(credentials: Credentials): Promise<Session>;
}

/** Attempts to issue a token while the account's credentials are being revoked. */
const MAX_ATTEMPTS = 5;

export const createSignIn = (dependencies: SignInDependencies): SignIn => {
  const { store, passwords, limiter, limits, newSessionToken } = dependencies;

  const assertAllowed = (state: RateLimitState): RateLimitState => {
    if (!state.allowed) throw rateLimited(state);
    return state;
  };

  const authenticate = async ({ login, password, client }: Credentials): Promise<User> => {
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

  return {
    consumeLimit: async (login, clientAddress) => {
      assertAllowed(await limiter.peek(limits.failedLogins, clientAddress));
      const user = await store.users.findByLogin(login);
      const account = accountLimitKey(login, user?._id);
      return assertAllowed(await limiter.consume(limits.logins, `${account}:${clientAddress}`));
    },

    authenticate,

    signIn: async (credentials) => {
      for (let attempt = 1; attempt <= MAX_ATTEMPTS; attempt += 1) {
        const user = await authenticate(credentials);
        const { token, row } = await newSessionToken(user._id, credentials.client);
        const current = await store.transaction(async (session) => {
          if (!(await store.tokens.insert(session, row, user.credential_epoch))) return null;
          return store.users.find(user._id, session);
        });
        // Otherwise all credentials were revoked meanwhile and the password may have changed: it is verified again.
        if (current !== null) return { token, expiresAt: row.expires_at, user: current };
      }
      throw unavailable('the credentials of an account were revoked during every attempt');
    },
  };
};

const wrongLogin = (): AppError => invalid({ login: message('auth.wrong_login') });
