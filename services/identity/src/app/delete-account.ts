/**
 * Self-service account deletion (specification 3.1, 4.1, 4.2; contract 2.1). Two phases on one use case: without a
 * code the deletion is armed, with one it is committed; and it can be cancelled until its day comes.
 */
import {
  accountDeletionCancelled,
  accountDeletionRequested,
  credentialsRevoked,
} from '@fitness/proto/events/identity.ts';
import { blockerMessageKey } from '@fitness/shared/blocker-catalogue.ts';
import { type Clock, formatTimestamp } from '@fitness/shared/clock.ts';
import { AppError, invalid, message, unauthenticated } from '@fitness/shared/error.ts';
import type { Outbox } from '@fitness/shared/events/outbox.ts';
import type { Locale } from '@fitness/shared/i18n/translate.ts';
import type { ClientSession } from '@fitness/shared/mongo/connect.ts';
import type { AppliedBlocker, Blockers } from '../clients/blockers.ts';
import type { Passwords } from '../clients/password-hasher.ts';
import { scheduleDeletion } from '../domain/deletion.ts';
import type { CodeStore } from '../store/codes.ts';
import type { TokenStore } from '../store/tokens.ts';
import type { UserRow, UserStore } from '../store/users.ts';
import type { SendCode } from './send-code.ts';

export interface DeleteAccountParts {
  users: UserStore;
  tokens: TokenStore;
  codes: CodeStore;
  passwords: Passwords;
  blockers: Blockers;
  sendCode: SendCode;
  outbox: Outbox;
  clock: Clock;
  graceDays: number;
  transact: <T>(work: (session: ClientSession) => Promise<T>) => Promise<T>;
}

interface DeletionSchedule {
  /** `YYYY-MM-DD HH:MM:SS`, UTC. */
  deletion_requested_at: string;
  deletion_scheduled_at: string;
}

type ArmOutcome = { state: 'code_sent' } | { state: 'already_pending'; schedule: DeletionSchedule };

export interface DeleteAccount {
  /** Phase 1. 422 wrong password; 409 blocked; 503 a blocker unknown; 500 no SMS; nothing is ever scheduled. */
  arm(userId: number, input: { password: string; locale: Locale }): Promise<ArmOutcome>;
  /** Phase 2. 422 wrong password or rejected code; 409 blocked; 503 a blocker unknown. */
  commit(userId: number, input: { password: string; code: string }): Promise<DeletionSchedule>;
  /** The account afterwards; also when nothing was pending, as a client may retry a lost answer. */
  cancel(userId: number): Promise<UserRow>;
}

export const createDeleteAccount = (parts: DeleteAccountParts): DeleteAccount => {
  const { users, codes, passwords, blockers, sendCode, clock } = parts;

  const authenticate = async (userId: number, password: string): Promise<UserRow> => {
    const user = await users.findById(userId);
    if (user === null) throw unauthenticated();
    if (await passwords.verify(user.password_hash, password)) return user;
    throw invalid({ current_password: message('auth.wrong_password') });
  };

  const assertUnblocked = async (userId: number): Promise<void> => {
    const applied = await blockers.evaluate(userId);
    if (applied.length > 0) throw deletionBlocked(applied);
  };

  return {
    arm: async (userId, { password, locale }) => {
      // Asked while the password is checked; who does not know it gets to know nothing of the answer.
      const unblocked = settled(assertUnblocked(userId));
      const user = await authenticate(userId, password);
      const schedule = scheduleOf(user);
      if (schedule !== undefined) return { state: 'already_pending', schedule };
      await unblocked();
      const outcome = await sendCode('deletion', { userId, phone: user.phone, locale });
      if (outcome === 'failed') throw smsFailed();
      return { state: 'code_sent' };
    },

    commit: async (userId, { password, code }) => {
      await authenticate(userId, password);
      const codeId = await codes.check(userId, 'deletion', code, clock.now());
      if (codeId === undefined) throw codeRejected();
      await assertUnblocked(userId);
      return parts.transact((session) => schedule(parts, session, userId, codeId));
    },

    cancel: (userId) =>
      parts.transact(async (session) => {
        const restored = await users.cancelDeletion(session, userId);
        if (restored === null) {
          const user = await users.findById(userId, session);
          if (user === null) throw unauthenticated();
          return user;
        }
        await parts.outbox.emit(session, accountDeletionCancelled, {
          subject: userId,
          aggregateVersion: restored.version,
          data: { user_id: userId },
        });
        return restored;
      }),
  };
};

/** Code spent, dates set, every credential dead, and the events about it: one transaction, so one winner. */
const schedule = async (
  { users, tokens, codes, outbox, clock, graceDays }: DeleteAccountParts,
  session: ClientSession,
  userId: number,
  codeId: string,
): Promise<DeletionSchedule> => {
  const now = clock.now();
  if (!(await codes.spend(session, userId, 'deletion', codeId, now))) throw codeRejected();
  const dates = scheduleDeletion(now, graceDays);
  const user = await users.scheduleDeletion(session, userId, dates);
  // Pending already: this code was sent before, and counts for nothing any more.
  if (user === null) throw codeRejected();
  await tokens.revokeAll(session, userId);
  const announced = {
    deletion_requested_at: formatTimestamp(dates.requestedAt),
    deletion_scheduled_at: formatTimestamp(dates.scheduledAt),
  };
  await outbox.emit(session, accountDeletionRequested, {
    subject: userId,
    aggregateVersion: user.version,
    data: { user_id: userId, ...announced },
  });
  await outbox.emit(session, credentialsRevoked, {
    subject: userId,
    aggregateVersion: user.version,
    data: { user_id: userId, reason: 'deletion_scheduled' },
  });
  return announced;
};

/** The outcome of work that has begun, for later: a failure that nobody asks for is no unhandled one. */
const settled = <T>(work: Promise<T>): (() => Promise<T>) => {
  work.catch(() => {});
  return () => work;
};

const scheduleOf = (user: UserRow): DeletionSchedule | undefined =>
  user.deletion_requested_at === null || user.deletion_scheduled_at === null
    ? undefined
    : {
        deletion_requested_at: formatTimestamp(user.deletion_requested_at),
        deletion_scheduled_at: formatTimestamp(user.deletion_scheduled_at),
      };

/** One identical answer for every reason, so that it cannot probe the state of a deletion. */
const codeRejected = (): AppError => invalid({ confirmation_code: message('deletion.code_rejected') });

const smsFailed = (): AppError =>
  new AppError({ kind: 'internal', code: 'deletion.sms_failed', message: message('deletion.sms_failed') });

/** The 409 of specification 4.1, rule 5; the texts in the reader's language. */
export const deletionBlocked = (applied: readonly AppliedBlocker[]): AppError =>
  new AppError({
    kind: 'conflict',
    code: 'account_deletion_blocked',
    message: message('deletion.blocked'),
    body: (t) => ({
      error: t(message('deletion.blocked')),
      code: 'account_deletion_blocked',
      blockers: applied.map(({ code, extras }) => ({
        code,
        message: t(message(blockerMessageKey(code), extras)),
        ...extras,
      })),
    }),
  });
