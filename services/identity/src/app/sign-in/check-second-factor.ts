/**
 * Checks a second-factor code after the password. A stranger without the password learns nothing and cannot use up the
 * allowed number of wrong codes.
 */
import { type AppError, invalid, message } from '@fitness/shared/kernel/error.ts';
import { type RateLimitState, rateLimited } from '@fitness/shared/kernel/rate-limit.ts';
import type { ClientSession } from '@fitness/shared/mongo/connect.ts';
import type { Dependencies } from '../../dependencies.ts';
import { userLimitKey } from '../../domain/limit-keys.ts';
import { hashRecoveryCode, matchingStep, readCode } from '../../domain/totp.ts';
import type { SecondFactor } from '../../store/second-factors.ts';
import type { SecurityNotices } from './security-notices.ts';

/** A correct, unused code. `secret` identifies the factor that it belongs to. */
export type Proof =
  | { kind: 'none' }
  | { kind: 'totp'; secret: string; step: number }
  | { kind: 'recovery'; secret: string; hash: string };

export interface CheckSecondFactor {
  /** 422 under `totp`: missing, wrong or used. 429: too many wrong codes. Without a second factor no code is needed. */
  verify(userId: number, typed: string | undefined): Promise<Proof>;
  /** Uses the proof. Returns false and writes nothing when it is no longer valid: verify again. */
  redeem(session: ClientSession, userId: number, proof: Proof): Promise<boolean>;
  /** Returns the step of a code for `secret`. 422 under `totp`: wrong code. 429: too many wrong codes of the account. */
  matchStep(userId: number, secret: string, code: string): Promise<number>;
}

export const createCheckSecondFactor = (
  dependencies: Dependencies & { securityNotices: SecurityNotices },
): CheckSecondFactor => {
  const { store, limiter, limits, realTime, securityNotices } = dependencies;

  const countAttempt = (userId: number): Promise<RateLimitState> =>
    limiter.consume(limits.wrongSecondFactorCodes, userLimitKey(userId));

  /** `state`: after the attempt was counted. The last attempt within the limit still gets 422. */
  const refuse = async (userId: number, state: RateLimitState): Promise<AppError> => {
    if (!state.allowed) return rateLimited(state);
    if (state.remaining === 0) {
      await store.transaction(
        (session) => securityNotices.notify(session, { _id: userId }, 'second_factor_locked', 'account'),
        { isEffect: false },
      );
    }
    return wrongCode();
  };

  const matchStep: CheckSecondFactor['matchStep'] = async (userId, secret, code) => {
    // Counted before it is compared, so that concurrent guesses cannot exceed the limit, even with a correct one.
    const state = await countAttempt(userId);
    if (!state.allowed) throw rateLimited(state);
    const opened = openSecret(dependencies, userId, secret);
    const step = opened === undefined ? undefined : matchingStep(opened, code, realTime.now());
    if (opened !== undefined && step === undefined) throw await refuse(userId, state);
    await limiter.giveBack(limits.wrongSecondFactorCodes, userLimitKey(userId));
    if (step === undefined) throw wrongCode();
    return step;
  };

  /** Accepted even when the limit of wrong codes is reached, because recovery codes cannot be guessed. */
  const findRecoveryCode = async (factor: SecondFactor, code: string): Promise<string> => {
    const hash = hashRecoveryCode(factor._id, code);
    if (!factor.recovery_codes.includes(hash)) throw await refuse(factor._id, await countAttempt(factor._id));
    return hash;
  };

  return {
    matchStep,

    verify: async (userId, typed) => {
      const factor = await store.secondFactors.find(userId);
      const secret = factor?.secret ?? null;
      if (factor === null || secret === null) return { kind: 'none' };
      if (typed === undefined) throw invalid({ totp: message('auth.totp_required') });
      const { kind, code } = readCode(typed);
      if (kind === 'recovery') return { kind, secret, hash: await findRecoveryCode(factor, code) };
      const step = await matchStep(userId, secret, code);
      if (step <= factor.last_step) throw invalid({ totp: message('auth.totp_used') });
      return { kind, secret, step };
    },

    redeem: async (session, userId, proof) => {
      const { secondFactors } = store;
      if (proof.kind === 'none')
        return ((await secondFactors.find(userId, session))?.secret ?? null) === null;
      if (proof.kind === 'totp') return secondFactors.acceptStep(session, userId, proof.secret, proof.step);
      if (!(await secondFactors.spendRecoveryCode(session, userId, proof.secret, proof.hash))) return false;
      await securityNotices.notify(session, { _id: userId }, 'recovery_code_used', 'account');
      return true;
    },
  };
};

export const wrongCode = (): AppError => invalid({ totp: message('auth.totp_rejected') });

/** Undefined when neither key is that of the setup. Only recovery codes are accepted then. */
const openSecret = (
  { secretBox, previousSecretBox, log }: Pick<Dependencies, 'secretBox' | 'previousSecretBox' | 'log'>,
  userId: number,
  secret: string,
): Buffer | undefined => {
  const opened = secretBox.open(secret, String(userId)) ?? previousSecretBox?.open(secret, String(userId));
  if (opened === undefined)
    log.error(
      { user_id: userId },
      'a second factor cannot be decrypted: SECOND_FACTOR_KEY is not the one of its setup',
    );
  return opened;
};
