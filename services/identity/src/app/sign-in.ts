/** Signing in. The response and its time are the same for a wrong password and for an unknown account. */
import { type AppError, invalid, message, unavailable } from '@fitness/shared/kernel/error.ts';
import { type RateLimitState, rateLimited } from '@fitness/shared/kernel/rate-limit.ts';
import type { Dependencies } from '../dependencies.ts';
import type { User } from '../domain/user.ts';
import type { NewSessionToken, Session } from './new-session-token.ts';
import { loginLimitKey } from './rate-limits.ts';

interface SignInDependencies extends Pick<Dependencies, 'store' | 'passwords' | 'limiter' | 'limits'> {
  newSessionToken: NewSessionToken;
}

export interface SignIn {
  /** Consumes one attempt of this login from this address. 429 when none is left. */
  consumeLimit(login: string, address: string): Promise<RateLimitState>;
  /** 422 under `login` when login and password do not match. Issues no token. */
  authenticate(login: string, password: string): Promise<User>;
  /** As `authenticate`, and issues a token. Also while a deletion is pending. */
  signIn(login: string, password: string): Promise<Session>;
}

/** Attempts to issue a token while the account's credentials are being revoked. */
const MAX_ATTEMPTS = 5;

export const createSignIn = (dependencies: SignInDependencies): SignIn => {
  const { store, passwords, limiter, limits, newSessionToken } = dependencies;

  const authenticate = async (login: string, password: string): Promise<User> => {
    const user = await store.users.findByLogin(login);
    const matches =
      user === null
        ? await passwords.verifyDummy(password)
        : await passwords.verify(user.password_hash, password);
    if (user === null || !matches) throw wrongLogin();
    return user;
  };

  return {
    consumeLimit: async (login, address) => {
      const state = await limiter.consume(limits.logins, loginLimitKey(login, address));
      if (!state.allowed) throw rateLimited(state);
      return state;
    },

    authenticate,

    signIn: async (login, password) => {
      for (let attempt = 1; attempt <= MAX_ATTEMPTS; attempt += 1) {
        const user = await authenticate(login, password);
        const { token, row } = newSessionToken(user._id);
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
