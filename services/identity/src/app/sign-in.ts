/** Signing in, and out. A wrong pair gets the same answer, in the same time, whether or not there is such an account. */
import { type AppError, invalid, message, unavailable } from '@fitness/shared/error.ts';
import { type RateLimiter, rateLimited } from '@fitness/shared/http/rate-limit.ts';
import type { RateLimit, RateLimitState } from '@fitness/shared/http/rate-limit-types.ts';
import type { Passwords } from '../clients/password-hasher.ts';
import type { User } from '../domain/user.ts';
import type { TokenStore } from '../store/tokens.ts';
import type { UserStore } from '../store/users.ts';
import { loginHash } from './code-budget.ts';
import type { NewSessionToken, SignedIn } from './session-tokens.ts';
import type { Transact } from './transact.ts';

export interface SignInParts {
  users: UserStore;
  tokens: TokenStore;
  passwords: Passwords;
  newSessionToken: NewSessionToken;
  limiter: RateLimiter;
  transact: Transact;
}

export interface SignIn {
  /** Takes a point of the budget of this login from this address. Throws 429 when it is spent. */
  takeLimit(login: string, address: string): Promise<RateLimitState>;
  /** 422 under `login` for a wrong pair; issues nothing. */
  authenticate(login: string, password: string): Promise<User>;
  /** As `authenticate`, with a token. Also succeeds while a deletion is pending. */
  signIn(login: string, password: string): Promise<SignedIn<User>>;
}

const LOGIN_LIMIT: RateLimit = { name: 'login', points: 10, windowS: 60 };
/** How often credentials may be revoked between the look at the password and the issue of a token. */
const ATTEMPTS = 5;

export const createSignIn = (parts: SignInParts): SignIn => {
  const { users, tokens, passwords, transact } = parts;

  const authenticate = async (login: string, password: string): Promise<User> => {
    const user = await users.findByLogin(login);
    const right =
      user === null
        ? await passwords.verifyDummy(password)
        : await passwords.verify(user.password_hash, password);
    if (user === null || !right) throw wrongPair();
    return user;
  };

  return {
    takeLimit: async (login, address) => {
      const state = await parts.limiter.consume(LOGIN_LIMIT, `${loginHash(login)}:${address}`);
      if (!state.allowed) throw rateLimited(state);
      return state;
    },

    authenticate,

    signIn: async (login, password) => {
      for (let attempt = 1; attempt <= ATTEMPTS; attempt += 1) {
        const user = await authenticate(login, password);
        const { token, row } = parts.newSessionToken(user._id);
        const issued = await transact(async (session) => {
          if (!(await tokens.insert(session, row, user.credential_epoch))) return null;
          return users.findById(user._id, session);
        });
        // Everything was revoked meanwhile, perhaps with a new password: it is asked for again.
        if (issued !== null) return { token, expiresAt: row.expires_at, user: issued };
      }
      throw unavailable('the credentials of an account are revoked all the time');
    },
  };
};

const wrongPair = (): AppError => invalid({ login: message('auth.wrong_login') });
