/** Issues a confirmation code and sends it by SMS (contract 2.1). */
import type { Locale } from '@fitness/shared/kernel/i18n/translate.ts';
import { outsideRequest } from '@fitness/shared/kernel/request-scope.ts';
import type { Dependencies } from '../dependencies.ts';
import { CODE_LENGTHS, type CodePurpose, issueCode } from '../domain/confirmation-code.ts';

interface CodeRecipient {
  userId: number;
  /** E.164. */
  phone: string;
  locale: Locale;
}

export type SendCode = (purpose: CodePurpose, recipient: CodeRecipient) => Promise<'sent' | 'failed'>;

/**
 * The new code replaces the previous one before it is sent, so that a crash cannot leave a sent code that is not stored.
 * When the SMS is refused the previous code is restored. When the outcome is unknown it is not, because the user may have
 * received the new one.
 */
export const createSendCode =
  ({ store, sms, clock, random }: Pick<Dependencies, 'store' | 'sms' | 'clock' | 'random'>): SendCode =>
  async (purpose, { userId, phone, locale }) => {
    const digits = random.digits(CODE_LENGTHS[purpose]);
    const issued = issueCode(random.uuid(), digits, clock.now());
    const previous = await store.codes.replace(userId, purpose, issued);
    const { outcome } = await sms.send({ receptor: phone, purpose, code: digits, locale });
    if (outcome === 'sent') return 'sent';
    if (outcome === 'refused')
      await outsideRequest(() => store.codes.restore(userId, purpose, issued, previous));
    return 'failed';
  };
