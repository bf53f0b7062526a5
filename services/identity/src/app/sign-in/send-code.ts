/** Issues a confirmation code and sends it by SMS. */
import { unauthenticated } from '@fitness/shared/kernel/error.ts';
import type { Locale } from '@fitness/shared/kernel/i18n/translate.ts';
import { outsideRequest } from '@fitness/shared/kernel/request-scope.ts';
import type { Dependencies } from '../../dependencies.ts';
import {
  CODE_LENGTHS,
  type CodePurpose,
  type IssuedCode,
  issueCode,
} from '../../domain/confirmation-code.ts';

interface CodeRecipient {
  userId: number;
  /** E.164. */
  phone: string;
  locale: Locale;
}

/** `withdraw` makes the previous code valid again, unless a newer one has been issued. */
type SentCode = { outcome: 'sent'; withdraw: () => Promise<void> } | { outcome: 'failed' };

export type SendCode = (purpose: CodePurpose, recipient: CodeRecipient) => Promise<SentCode>;

/**
 * The new code replaces the previous one before it is sent, so that a crash cannot leave a sent code that is not stored. If the
 * SMS is refused, the previous code is restored. If the outcome is unknown, it is not, because the user may have received the
 * new code.
 */
export const createSendCode = ({
  store,
  sms,
  clock,
  random,
}: Pick<Dependencies, 'store' | 'sms' | 'clock' | 'random'>): SendCode => {
  /** A new phone is personal data, so it is stored in a transaction that conflicts with an erasure of the account. */
  const replacePhone = (userId: number, issued: IssuedCode): Promise<IssuedCode | null> =>
    store.transaction(
      async (session) => {
        if (!(await store.users.touchIfLive(session, userId))) throw unauthenticated();
        return store.codes.replace(userId, 'phone', issued, session);
      },
      { isEffect: false },
    );

  return async (purpose, { userId, phone, locale }) => {
    const digits = random.digits(CODE_LENGTHS[purpose]);
    const issued = issueCode(random.uuid(), digits, clock.now());
    const previous = await (purpose === 'phone'
      ? replacePhone(userId, { ...issued, phone })
      : store.codes.replace(userId, purpose, issued));
    const withdraw = (): Promise<void> =>
      outsideRequest(() => store.codes.restore(userId, purpose, issued, previous));
    const { outcome } = await sms.send({ receptor: phone, purpose, code: digits, locale });
    if (outcome === 'sent') return { outcome, withdraw };
    if (outcome === 'refused') await withdraw();
    return { outcome: 'failed' };
  };
};
