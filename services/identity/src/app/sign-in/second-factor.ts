/** Sets up and removes the second factor of the caller's account (ADR 38). */
import type { UserCaller } from '@fitness/shared/kernel/caller.ts';
import { conflict, invalid, message, unauthenticated, unavailable } from '@fitness/shared/kernel/error.ts';
import type { ClientSession } from '@fitness/shared/mongo/connect.ts';
import type { Dependencies } from '../../dependencies.ts';
import {
  hashRecoveryCode,
  newRecoveryCodes,
  otpauthUrl,
  readCode,
  SETUP_LIFETIME_MS,
  secretText,
  TOTP_SECRET_BYTES,
} from '../../domain/totp.ts';
import type { User } from '../../domain/user.ts';
import { type CheckSecondFactor, wrongCode } from './check-second-factor.ts';
import { assertCurrentPassword, findOwnAccount, wrongPassword } from './own-account.ts';
import { publishCredentialsRevoked } from './publish-credentials-revoked.ts';
import type { SecurityNotices } from './security-notices.ts';

interface SecondFactorDependencies extends Dependencies {
  checkSecondFactor: CheckSecondFactor;
  securityNotices: SecurityNotices;
}

interface CurrentPasswordInput {
  currentPassword: string | undefined;
  clientAddress: string;
}

/** 401: the presented session ended after it was introspected. */
interface OwnSecondFactor {
  /** Returns a new secret, which is valid once `arm` has received a code for it. 409: a factor is armed. */
  begin(caller: UserCaller, input: CurrentPasswordInput): Promise<{ secret: string; otpauthUrl: string }>;
  /**
   * Returns the recovery codes, which are shown only here. Revokes every other credential of the account, because they were
   * issued without a code. 422: `totp`. 409: a factor is armed.
   */
  arm(caller: UserCaller, totp: string): Promise<string[]>;
  /** Also ends a setup. Does nothing when there is none, because a client may retry after a lost response. */
  disarm(caller: UserCaller, input: CurrentPasswordInput & { totp: string | undefined }): Promise<void>;
}

/** Attempts to use a code while the factor is being changed. */
const MAX_ATTEMPTS = 5;

const findVerified = async (
  dependencies: SecondFactorDependencies,
  userId: number,
  input: CurrentPasswordInput,
): Promise<User> => {
  const user = await findOwnAccount(dependencies, userId);
  const { currentPassword: password, clientAddress } = input;
  await assertCurrentPassword(dependencies, user, { password, clientAddress });
  return user;
};

/** Writes the account, which orders this transaction with sign-ins, revocations and an erasure. */
const lock = async (
  { store, clock }: SecondFactorDependencies,
  session: ClientSession,
  caller: UserCaller,
  verified?: User,
): Promise<User> => {
  const presented = await store.tokens.findLive(caller.tokenId, clock.now(), session);
  const current = await store.users.find(caller.userId, session);
  if (presented === null || current === null) throw unauthenticated();
  if (!(await store.users.touchIfLive(session, caller.userId))) throw unauthenticated();
  if (verified !== undefined && verified.password_hash !== current.password_hash) throw wrongPassword();
  return current;
};

export const createOwnSecondFactor = (dependencies: SecondFactorDependencies): OwnSecondFactor => {
  const { store, secretBox, random, clock, checkSecondFactor, securityNotices } = dependencies;

  const begin: OwnSecondFactor['begin'] = async (caller, input) => {
    const { userId } = caller;
    const user = await findVerified(dependencies, userId, input);
    const secret = random.bytes(TOTP_SECRET_BYTES);
    const setup = {
      secret: secretBox.seal(secret, String(userId)),
      expires_at: new Date(clock.now().getTime() + SETUP_LIFETIME_MS),
    };
    await store.transaction(async (session) => {
      await lock(dependencies, session, caller, user);
      if (((await store.secondFactors.find(userId, session))?.secret ?? null) !== null) throw armedAlready();
      await store.secondFactors.begin(session, userId, setup);
    });
    return { secret: secretText(secret), otpauthUrl: otpauthUrl(secret, user.username) };
  };

  const arm: OwnSecondFactor['arm'] = async (caller, totp) => {
    const { userId, tokenId } = caller;
    const factor = await store.secondFactors.find(userId);
    if (factor !== null && factor.secret !== null) throw armedAlready();
    const setup = factor?.setup ?? null;
    if (setup === null || setup.expires_at <= clock.now()) {
      throw invalid({ totp: message('auth.second_factor_not_begun') });
    }
    const { kind, code } = readCode(totp);
    if (kind !== 'totp') throw wrongCode();
    const step = await checkSecondFactor.matchStep(userId, setup.secret, code);
    const codes = newRecoveryCodes(random.bytes);
    const recoveryCodes = codes.map((each) => hashRecoveryCode(userId, each));
    await store.transaction(async (session) => {
      const { version } = await lock(dependencies, session, caller);
      const armed = { secret: setup.secret, step, recoveryCodes };
      if (!(await store.secondFactors.arm(session, userId, armed))) {
        const other = await store.secondFactors.find(userId, session);
        // Another request has armed the factor or has begun a new setup.
        throw (other?.secret ?? null) === null ? wrongCode() : armedAlready();
      }
      await store.tokens.revokeOthers(session, userId, tokenId);
      await publishCredentialsRevoked(dependencies, session, { userId, version }, 'second_factor_armed');
      await securityNotices.notify(session, { _id: userId }, 'second_factor_armed', 'account');
    });
    return codes;
  };

  const disarm: OwnSecondFactor['disarm'] = async (caller, { totp, ...input }) => {
    const { userId } = caller;
    const user = await findVerified(dependencies, userId, input);
    for (let attempt = 1; attempt <= MAX_ATTEMPTS; attempt += 1) {
      const proof = await checkSecondFactor.verify(userId, totp);
      const isDone = await store.transaction(async (session) => {
        await lock(dependencies, session, caller, user);
        if (!(await checkSecondFactor.redeem(session, userId, proof))) return false;
        await store.secondFactors.delete(session, userId);
        if (proof.kind === 'none') return true;
        await securityNotices.notify(session, { _id: userId }, 'second_factor_removed', 'account');
        return true;
      });
      // Otherwise the factor was changed or the code was used after it was verified.
      if (isDone) return;
    }
    throw unavailable('the second factor of an account was changed during every attempt');
  };

  return { begin, arm, disarm };
};

const armedAlready = () => conflict('auth.second_factor_armed', message('auth.second_factor_armed'));
