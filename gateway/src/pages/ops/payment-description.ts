/** The description of a payment, without what the pages show in the language of the page anyway. */
import { LOCALES, translate } from '@fitness/shared/kernel/i18n/translate.ts';

export interface Described {
  description: string | null;
  /** `ref_number` is of a deposit, and `reference` of a withdrawal. */
  meta: { ref_number?: string | null; reference?: string | null } | null;
}

const DEFAULTS: ReadonlySet<string> = new Set(
  LOCALES.flatMap((locale) => [
    translate(locale, 'payments.withdrawal_description'),
    translate(locale, 'payments.deposit_description'),
  ]),
);

/**
 * Words of a person, or the title of what was paid for. Null for a default description, which the wallet stores in the language of the
 * request: the type of the payment says the same. The wallet appends the reference number to the description of a deposit.
 */
export const descriptionOf = ({ description, meta }: Described): string | null => {
  const number = meta?.ref_number;
  if (description === null || description === number) return null;
  const words =
    number != null && description.endsWith(`\n${number}`)
      ? description.slice(0, -number.length - 1)
      : description;
  return DEFAULTS.has(words) ? null : words;
};
