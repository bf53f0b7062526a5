/** The check that precedes every deletion of an account (specification 4.1, rule 5). */
import { blockerMessageKey } from '@fitness/contracts/blockers.ts';
import { AppError, type Message, message } from '@fitness/shared/kernel/error.ts';
import type { Translate } from '@fitness/shared/kernel/i18n/translate.ts';
import type { AppliedBlocker } from '../../clients/blockers.ts';
import type { Dependencies } from '../../dependencies.ts';

/** Throws 409 with every blocker that applies, and 503 when one of them cannot be evaluated. */
export const assertNoBlockers = async (
  { blockers }: Pick<Dependencies, 'blockers'>,
  userId: number,
): Promise<void> => {
  const applied = await blockers.evaluate(userId);
  if (applied.length > 0) throw deletionBlocked(applied, message('deletion.blocked'));
};

/** 409; `text` is the reason where no blocker of the account is one. */
export const deletionBlocked = (applied: readonly AppliedBlocker[], text: Message): AppError =>
  new AppError({
    kind: 'conflict',
    code: 'account_deletion_blocked',
    message: message('deletion.blocked'),
    body: (t) => ({
      error: t(text),
      code: 'account_deletion_blocked',
      blockers: applied.map((blocker) => toBlocker(blocker, t)),
    }),
  });

/** The blocker for a client: its code, its text in the language of the request, and its extra keys. */
export const toBlocker = ({ code, extras }: AppliedBlocker, t: Translate) => ({
  code,
  message: t(message(blockerMessageKey(code), extras)),
  ...extras,
});
