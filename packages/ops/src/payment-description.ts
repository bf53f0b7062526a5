/** The description of a payment, without what the pages show in the language of the page anyway. */
import { LOCALES, translate } from '@fitness/shared/kernel/i18n/translate.ts';

export interface Described {
  description: string | null;
  /** A deposit has `ref_number`, and a withdrawal has `reference`. */
  meta: { ref_number?: string | null; reference?: string | null } | null;
}

const DEFAULTS: ReadonlySet<string> = new Set(
  LOCALES.flatMap((locale) => [
    translate(locale, 'payments.withdrawal_description'),
    translate(locale, 'payments.deposit_description'),
  ]),
);

/**
 * The member's own words, or the title of the purchased item. Null for a default description: the wallet stores it in
 * the language of the request, and the payment type says the same. The wallet appends the reference number to the
 * description of a deposit.
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
