/** Signing in. The response and its time are the same for a wrong password and for an unknown account. */
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

interface SignInDependencies
  extends Pick<Dependencies, 'store' | 'passwords' | 'limiter' | 'limits' | 'networkHash'> {
  newSessionToken: NewSessionToken;
  checkSecondFactor: CheckSecondFactor;
}

interface Credentials {
  login: string;
  /** As it was when the limit was consumed; null for an unknown login. */
  found: FoundLogin | null;
  password: string;
  /** A code of the second factor, or a recovery code. */
  totp: string | undefined;
  client: Client;
}

export interface SignIn {
  /**
   * Consumes one attempt at the account from this address, by whichever of its names. 429 when none is left, or after
   * too many failures of the address over all accounts. How many are left is for nobody to know who has not signed in: it
   * would link the names of an account.
   */
  consumeLimit(login: string, clientAddress: string): Promise<FoundLogin | null>;
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
  const { store, passwords, limiter, limits, networkHash, newSessionToken, checkSecondFactor } = dependencies;

  const assertAllowed = (state: RateLimitState): void => {
    if (!state.allowed) throw rateLimited(state);
  };

  const assertPassword = async (
    found: FoundLogin | null,
    { password, client }: Credentials,
  ): Promise<FoundLogin> => {
    const clientAddress = client.address;
    const matches =
      found === null
        ? await passwords.verifyDummy(password, clientAddress)
        : await passwords.verify(found.user.password_hash, password, clientAddress);
    if (found === null || !matches) {
      assertAllowed(await limiter.consume(limits.failedLogins, clientAddress));
      throw wrongLogin();
    }
    // Of concurrent guesses no more than the limit are answered, not even a right one.
    assertAllowed(await limiter.peek(limits.failedLogins, clientAddress));
    return found;
  };

  /** Verifies all factors, then lets `use` use the code; again when `use` finds that one of them has changed. */
  const withProof = async <T>(
    credentials: Credentials,
    use: (found: FoundLogin, proof: Proof) => Promise<T>,
  ): Promise<T> => {
    let { found } = credentials;
    for (let attempt = 1; attempt <= MAX_ATTEMPTS; attempt += 1) {
      const verified = await assertPassword(found, credentials);
      const proof = await checkSecondFactor.verify(verified.user._id, credentials.totp);
      try {
        return await use(verified, proof);
      } catch (error) {
        // Verified again: the password may be another one, and the code may be used.
        if (!(error instanceof Outdated)) throw error;
      }
      found = await store.users.findLogin(credentials.login);
    }
    throw unavailable('the credentials of an account were changed during every attempt');
  };

  const redeem = async (session: ClientSession, userId: number, proof: Proof): Promise<void> => {
    if (!(await checkSecondFactor.redeem(session, userId, proof))) throw new Outdated();
  };

  return {
    consumeLimit: async (login, clientAddress) => {
      assertAllowed(await limiter.peek(limits.failedLogins, clientAddress));
      const found = await store.users.findLogin(login);
      const account = accountLimitKey(login, found?.user._id);
      assertAllowed(await limiter.consume(limits.logins, `${account}:${clientAddress}`));
      return found;
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
          // Setting up a second factor revokes credentials: without a code the key has told that there is none.
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
