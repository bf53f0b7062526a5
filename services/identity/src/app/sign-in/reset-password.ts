/**
 * Resets a forgotten password with a code that is sent to the account's phone. Response, response time and rate
 * limits reveal whether an account exists only to a caller who is signed in to it. Apps and restricted tokens learn
 * nothing, because they may not know the phone and email of their user.
 */
import { siteOf } from '@fitness/shared/http/client-network.ts';
import { type Caller, SESSION_AND_PERSONAL, type UserCaller } from '@fitness/shared/kernel/caller.ts';
import { type AppError, invalid, message } from '@fitness/shared/kernel/error.ts';
import { createFairQueue } from '@fitness/shared/kernel/fair-queue.ts';
import type { Locale } from '@fitness/shared/kernel/i18n/translate.ts';
import { OPERATOR_PERMISSIONS } from '@fitness/shared/kernel/permissions.ts';
import type { ClientSession } from '@fitness/shared/mongo/connect.ts';
import type { Dependencies } from '../../dependencies.ts';
import { accountLimitKey } from '../../domain/limit-keys.ts';
import { isLoginOf } from '../../domain/login.ts';
import { permissionsOf } from '../../domain/roles.ts';
import { NO_USER_ID, type User } from '../../domain/user.ts';
import { assertNotName } from './new-password.ts';
import { publishCredentialsRevoked } from './publish-credentials-revoked.ts';
import type { SecurityNotices } from './security-notices.ts';
import type { SendCode } from './send-code.ts';
import type { SmsBudget } from './sms-budget.ts';
import type { TakeReset } from './take-reset.ts';

interface ResetPasswordDependencies extends Dependencies {
  takeReset: TakeReset;
  smsBudget: SmsBudget;
  sendCode: SendCode;
  securityNotices: SecurityNotices;
}

interface Client {
  caller: Caller;
  locale: Locale;
  clientAddress: string;
}

/**
 * Calls for the caller's own account share the limit of its deletion, and get 429 when it is reached. Calls of an app or a
 * restricted token are anonymous, but each of them uses up that limit, whatever the login.
 */
interface ResetPassword {
  /** Starts sending a code if the login is known. Waits neither for the lookup nor for sending. */
  request(login: string, client: Client): Promise<void>;
  /** 422 under `code` for every reason to reject it. With the correct code, 422 under `password`. */
  reset(input: { login: string; code: string; password: string }, client: Client): Promise<void>;
}

/**
 * Maximum number of requests that are processed at once, because other routes also need the database, and of waiting requests. No
 * code is sent for further ones.
 */
export const REQUESTS = { atOnce: 16, waiting: 200 };

/** Finds the account of a call. Each call uses up the limit that it belongs to. */
const createFindAccount = ({ store, takeReset }: ResetPasswordDependencies) => {
  /** Undefined for an unknown login, or when a limit is exceeded. `isAddressAllowed`: whether the address is within its limit. */
  const findWithinLimit = async (
    login: string,
    { caller, clientAddress }: Client,
    isAddressAllowed: boolean,
  ): Promise<User | undefined> => {
    const user = await store.users.findByLogin(login);
    const key = accountLimitKey(login, user?._id);
    const isCounted = caller.kind === 'user' && isLimited(caller) && caller.userId === user?._id;
    const allowed = isAddressAllowed && (await takeReset.ofAccount(key, clientAddress, isCounted));
    return user !== null && allowed ? user : undefined;
  };

  /**
   * Returns the caller's account if `login` names it, and counts the call. Reads no other account, because the response may
   * reveal only this one. A limited token learns nothing, and all of its calls are counted.
   */
  const takeOwn = async (login: string, caller: Caller): Promise<User | undefined> => {
    if (caller.kind !== 'user') return undefined;
    const user = isLimited(caller) ? null : await store.users.find(caller.userId);
    const own = user !== null && isLoginOf(user, login) ? user : undefined;
    if (own !== undefined || isLimited(caller)) await takeReset.ofOwner(caller.userId);
    return own;
  };

  return { findWithinLimit, takeOwn };
};

/** Stores the new password and revokes every credential of the account, in the transaction that consumes the code. */
const createCommitReset = (dependencies: ResetPasswordDependencies) => {
  const { store, clock, securityNotices } = dependencies;

  /**
   * The account may have been registered without access to the phone. The owner of the phone therefore gets the account
   * without its second factor, unless it has an operator's permission: the phone would then replace both factors.
   */
  const provePhone = async (session: ClientSession, user: User): Promise<void> => {
    const { _id: userId, role_ids: roleIds } = user;
    await store.users.provePhone(session, userId);
    const permissions = permissionsOf(await store.roles.findMany(roleIds, session));
    if ([...permissions].some((permission) => OPERATOR_PERMISSIONS.has(permission))) return;
    await store.users.forgetNetworks(session, userId);
    const isArmed = ((await store.secondFactors.find(userId, session))?.secret ?? null) !== null;
    await store.secondFactors.delete(session, userId);
    if (isArmed) await securityNotices.notify(session, user, 'second_factor_removed', 'account');
  };

  return async (
    session: ClientSession,
    userId: number,
    codeId: string,
    { passwordHash, locale }: { passwordHash: string; locale: Locale },
  ): Promise<void> => {
    if (!(await store.codes.consume(session, userId, 'reset', codeId, clock.now()))) throw codeRejected();
    const user = await store.users.setPassword(session, userId, passwordHash);
    if (user === null) throw codeRejected();
    await store.tokens.revokeAll(session, userId);
    // Someone who knew the old password may have requested a deletion or another phone.
    await store.codes.invalidate(session, userId);
    const account = { userId, version: user.version };
    if (!user.phone_proven) await provePhone(session, user);
    await publishCredentialsRevoked(dependencies, session, account, 'password_reset');
    await securityNotices.notify(session, user, 'password_reset', 'account');
    await securityNotices.requestSms(session, user, { notice: 'password_reset', phone: user.phone, locale });
  };
};

export const createResetPassword = (
  dependencies: ResetPasswordDependencies,
  { atOnce, waiting } = REQUESTS,
): ResetPassword => {
  const { store, passwords, clock, log, takeReset, smsBudget } = dependencies;
  const { sendCode, backgroundTasks, networkHash } = dependencies;
  const { findWithinLimit, takeOwn } = createFindAccount(dependencies);
  const commit = createCommitReset(dependencies);

  // Queued by address, so that a stranger with many requests does not displace others.
  const requests = createFairQueue({ maxRunning: atOnce, maxWaiting: () => waiting });

  const send = async ({ _id: userId, phone }: User, locale: Locale): Promise<void> => {
    const { outcome } = await sendCode('reset', { userId, phone, locale });
    if (outcome === 'failed') log.warn({ user_id: userId }, 'a reset code was not sent');
  };

  const sendAnonymously = async (login: string, client: Client): Promise<void> => {
    const { locale, clientAddress } = client;
    const user = await findWithinLimit(login, client, true);
    if (user === undefined) return;
    const isKnown = await store.users.knowsNetwork(user._id, networkHash(user._id, clientAddress));
    if (await smsBudget.takeAnonymous(user.phone, isKnown)) await send(user, locale);
  };

  return {
    request: async (login, client) => {
      const { caller, locale, clientAddress } = client;
      const own = await takeOwn(login, caller);
      if (own !== undefined) {
        await smsBudget.takeSignedIn(own.phone);
        backgroundTasks.run('reset code', () => send(own, locale));
      } else if (await takeReset.ofAddress(clientAddress)) {
        backgroundTasks.run('reset code', () =>
          requests(siteOf(clientAddress), () => sendAnonymously(login, client)),
        );
      }
    },

    reset: async ({ login, code, password }, client) => {
      const { caller, clientAddress, locale } = client;
      const own = await takeOwn(login, caller);
      const user = own ?? (await findWithinLimit(login, client, await takeReset.ofAddress(clientAddress)));
      // Hashing is slow. It comes before the check of the code, so that every refusal takes the same time.
      const passwordHash = await passwords.hash(password, clientAddress);
      const userId = user?._id ?? NO_USER_ID;
      const network = networkHash(userId, clientAddress);
      const codeId = await store.codes.check(userId, 'reset', code, clock.now(), { network });
      if (user === undefined || codeId === undefined) throw codeRejected();
      // Only after the correct code, because the response reveals something about the account.
      assertNotName(password, user);
      await store.transaction((session) => commit(session, user._id, codeId, { passwordHash, locale }));
    },
  };
};

/** Whether the token is an app's or restricted to some permissions. */
const isLimited = ({ tokenKind }: UserCaller): boolean => !SESSION_AND_PERSONAL.includes(tokenKind);

const codeRejected = (): AppError => invalid({ code: message('auth.code_rejected') });
