/**
 * A forgotten password, by a code to the account's phone (contract 2). Neither step tells whether an account exists:
 * not by its answer, nor by its time, nor by its limit.
 */
import { setTimeout as pause } from 'node:timers/promises';
import { credentialsRevoked } from '@fitness/proto/events/identity.ts';
import type { Clock } from '@fitness/shared/clock.ts';
import { type AppError, invalid, message } from '@fitness/shared/error.ts';
import type { Outbox } from '@fitness/shared/events/outbox.ts';
import type { RateLimiter } from '@fitness/shared/http/rate-limit.ts';
import type { Locale } from '@fitness/shared/i18n/translate.ts';
import type { Logger } from '@fitness/shared/log.ts';
import type { ClientSession } from '@fitness/shared/mongo/connect.ts';
import type { Passwords } from '../clients/password-hasher.ts';
import { NOBODY } from '../domain/user.ts';
import type { CodeStore } from '../store/codes.ts';
import type { TokenStore } from '../store/tokens.ts';
import type { UserStore } from '../store/users.ts';
import { CODE_BUDGET, codeBudgetKey, unknownBudgetKey } from './code-budget.ts';
import type { SendCode } from './send-code.ts';

/** By then the SMS is usually out, so that a client who reads it at once finds it; who has no account waits as long. */
export const ANSWER_AFTER_MS = 1_000;

export interface ResetPasswordParts {
  users: UserStore;
  tokens: TokenStore;
  codes: CodeStore;
  passwords: Passwords;
  sendCode: SendCode;
  limiter: RateLimiter;
  outbox: Outbox;
  clock: Clock;
  log: Logger;
  answerAfterMs: number;
  transact: <T>(work: (session: ClientSession) => Promise<T>) => Promise<T>;
}

export interface ResetPassword {
  /** Starts sending a code, if there is whom to send it to. Resolves after the same time whatever comes of it. */
  request(login: string, locale: Locale): Promise<void>;
  /** 422 under `code` for every reason to refuse. */
  reset(input: { login: string; code: string; password: string }): Promise<void>;
  /** Waits for the codes that are being sent. */
  close(): Promise<void>;
}

export const createResetPassword = (parts: ResetPasswordParts): ResetPassword => {
  const { users, codes, limiter, sendCode, log, answerAfterMs } = parts;
  const sending = new Set<Promise<unknown>>();

  /** The user, when his budget of the minute allows one more call. A login of nobody has a budget of its own. */
  const findWithinBudget = async (login: string) => {
    const user = await users.findByLogin(login);
    const key = user === null ? unknownBudgetKey(login) : codeBudgetKey(user._id);
    const { allowed } = await limiter.consume(CODE_BUDGET, key);
    return user !== null && allowed ? user : undefined;
  };

  const send = async (login: string, locale: Locale): Promise<void> => {
    const user = await findWithinBudget(login);
    if (user === undefined) return;
    const outcome = await sendCode('reset', { userId: user._id, phone: user.phone, locale });
    if (outcome === 'failed') log.warn({ user_id: user._id }, 'a reset code was not sent');
  };

  return {
    request: async (login, locale) => {
      const task = send(login, locale)
        .catch((error: unknown) => log.error({ err: error }, 'a reset code was not sent'))
        .finally(() => sending.delete(task));
      sending.add(task);
      await pause(answerAfterMs);
    },
    reset: async ({ login, code, password }) => {
      const user = await findWithinBudget(login);
      // The hash is the slow part: made before the code is looked at, so that every refusal takes the same time.
      const passwordHash = await parts.passwords.hash(password);
      const codeId = await codes.check(user?._id ?? NOBODY, 'reset', code, parts.clock.now());
      if (user === undefined || codeId === undefined) throw codeRejected();
      await parts.transact((session) => commitReset(parts, session, user._id, codeId, passwordHash));
    },
    close: async () => {
      await Promise.all(sending);
    },
  };
};

const commitReset = async (
  { users, tokens, codes, outbox, clock }: ResetPasswordParts,
  session: ClientSession,
  userId: number,
  codeId: string,
  passwordHash: string,
): Promise<void> => {
  if (!(await codes.spend(session, userId, 'reset', codeId, clock.now()))) throw codeRejected();
  const user = await users.setPassword(session, userId, passwordHash);
  if (user === null) throw codeRejected();
  await tokens.revokeAll(session, userId);
  await outbox.emit(session, credentialsRevoked, {
    subject: userId,
    aggregateVersion: user.version,
    data: { user_id: userId, reason: 'password_reset' },
  });
};

const codeRejected = (): AppError => invalid({ code: message('auth.reset_code_rejected') });
