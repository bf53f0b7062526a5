/** Signing in. Response and response time are the same for a wrong password and for an unknown account. */
import { type AppError, invalid, message, unavailable } from '@fitness/shared/kernel/error.ts';
import { type RateLimitState, rateLimited } from '@fitness/shared/kernel/rate-limit.ts';
import type { ClientSession } from '@fitness/shared/mongo/connect.ts';
import type { Dependencies } from '../../dependencies.ts';
import type { Client } from '../../domain/client.ts';
import { accountLimitKey } from '../../domain/limit-keys.ts';
import type { User } from '../../domain/user.ts';
import type { FoundLogin } from '../../store/users.ts';
import type { CheckSecondFactor, Proof } from './check-second-factor.ts';
import type { NewSessionToken, Session } from './new-session-token.ts';

interface SignInDependencies extends Dependencies {
  newSessionToken: NewSessionToken;
  checkSecondFactor: CheckSecondFactor;
}

interface Credentials {
  login: string;
  /** The account when the limit was consumed; null for an unknown login. */
  match: FoundLogin | null;
  password: string;
  /** A second-factor code or a recovery code. */
  totp: string | undefined;
  client: Client;
}

export interface SignIn {
  /**
   * Consumes one attempt at the account from this address, whichever of its names is used. 429: none is left, or too many
   * failures of the address over all accounts. The number of remaining attempts is not shown before signing in, because it
   * would link the names of an account.
   */
  consumeLimit(login: string, clientAddress: string): Promise<FoundLogin | null>;
  /**
   * Issues no token. 422 under `login`: login and password do not match. 422 under `totp`: they match, but the code of the
   * second factor is missing, wrong or used. 429: too many failures.
   */
  authenticate(credentials: Credentials): Promise<User>;
  /** Like `authenticate`, but issues a token. Works even while a deletion is pending. */
  signIn(credentials: Credentials): Promise<Session>;
}

/** Attempts to sign in while the account's credentials or its second factor are being changed. */
const MAX_ATTEMPTS = 5;

const assertAllowed = (state: RateLimitState): void => {
  if (!state.allowed) throw rateLimited(state);
};

/** Throws 422 for a wrong password and an unknown login, and 429 after too many failures of the address. */
const assertPassword = async (
  { passwords, limiter, limits }: SignInDependencies,
  match: FoundLogin | null,
  { password, client }: Credentials,
): Promise<FoundLogin> => {
  const clientAddress = client.address;
  const isRight =
    match === null
      ? await passwords.verifyDummy(password, clientAddress)
      : await passwords.verify(match.user.password_hash, password, clientAddress);
  if (match === null || !isRight) {
    assertAllowed(await limiter.consume(limits.failedLogins, clientAddress));
    throw wrongLogin();
  }
  // Concurrent guesses beyond the limit are refused, even with a correct password.
  assertAllowed(await limiter.peek(limits.failedLogins, clientAddress));
  return match;
};

export const createSignIn = (dependencies: SignInDependencies): SignIn => {
  const { store, limiter, limits, networkHash, newSessionToken, checkSecondFactor } = dependencies;

  /** Verifies all factors, then calls `use`. Starts again if `use` detects that one of them has changed. */
  const withProof = async <T>(
    credentials: Credentials,
    use: (match: FoundLogin, proof: Proof) => Promise<T>,
  ): Promise<T> => {
    let { match } = credentials;
    for (let attempt = 1; attempt <= MAX_ATTEMPTS; attempt += 1) {
      const verified = await assertPassword(dependencies, match, credentials);
      const proof = await checkSecondFactor.verify(verified.user._id, credentials.totp);
      try {
        return await use(verified, proof);
      } catch (error) {
        // Verified again, because the password may have changed and the code may have been used.
        if (!(error instanceof Outdated)) throw error;
      }
      match = await store.users.findLogin(credentials.login);
    }
    throw unavailable('the credentials of an account were changed during every attempt');
  };

  const redeem = async (session: ClientSession, userId: number, proof: Proof): Promise<void> => {
    if (!(await checkSecondFactor.redeem(session, userId, proof))) throw new Outdated();
  };

  return {
    consumeLimit: async (login, clientAddress) => {
      assertAllowed(await limiter.peek(limits.failedLogins, clientAddress));
      const match = await store.users.findLogin(login);
      const account = accountLimitKey(login, match?.user._id);
      assertAllowed(await limiter.consume(limits.logins, `${account}:${clientAddress}`));
      return match;
    },

    authenticate: (credentials) =>
      withProof(credentials, ({ user, key }, proof) =>
        store.transaction(async (session) => {
          const network = networkHash(user._id, credentials.client.address);
          if (!(await store.users.recordSignIn(session, key, network))) throw new Outdated();
          await redeem(session, user._id, proof);
          return user;
        }),
      ),

    signIn: (credentials) =>
      withProof(credentials, async ({ user, key }, proof) => {
        const { token, row } = await newSessionToken(user._id, credentials.client);
        const network = networkHash(user._id, credentials.client.address);
        await store.transaction(async (session) => {
          if (!(await store.tokens.insertSession(session, row, key, network))) throw new Outdated();
          // Setting up a second factor revokes credentials: the key proves that a sign-in without a code still needs
          // none.
          if (proof.kind !== 'none') await redeem(session, user._id, proof);
        });
        return { token, expiresAt: row.expires_at, user };
      }),
  };
};

/** The credentials of the account or its second factor were changed after they were verified. */
class Outdated extends Error {
  override name = 'Outdated';
}

const wrongLogin = (): AppError => invalid({ login: message('auth.wrong_login') });
