/** Issues a code and sends it; which code counts afterwards depends on what is known of the SMS (contract 2.1). */
import type { Clock, Random } from '@fitness/shared/clock.ts';
import type { Locale } from '@fitness/shared/i18n/translate.ts';
import type { SmsSender } from '../clients/sms.ts';
import { CODE_LENGTH, type CodePurpose, issueCode } from '../domain/confirmation-code.ts';
import type { CodeStore } from '../store/codes.ts';

export interface SendCodeParts {
  codes: CodeStore;
  sms: SmsSender;
  clock: Clock;
  random: Random;
}

interface CodeRecipient {
  userId: number;
  /** E.164. */
  phone: string;
  locale: Locale;
}

export type SendCode = (purpose: CodePurpose, recipient: CodeRecipient) => Promise<'sent' | 'failed'>;

/**
 * The new code replaces the older one before it is sent, so that a crash in between cannot leave a sent code that does
 * not work. A definite refusal puts the older one back; an unknown outcome does not, as the user may hold the new one.
 */
export const createSendCode =
  ({ codes, sms, clock, random }: SendCodeParts): SendCode =>
  async (purpose, { userId, phone, locale }) => {
    const digits = random.digits(CODE_LENGTH);
    const issued = issueCode(random.uuid(), digits, clock.now());
    const older = await codes.replace(userId, purpose, issued);
    const { outcome } = await sms.send({ receptor: phone, purpose, code: digits, locale });
    if (outcome === 'sent') return 'sent';
    if (outcome === 'refused') await codes.restore(userId, purpose, issued, older);
    return 'failed';
  };
