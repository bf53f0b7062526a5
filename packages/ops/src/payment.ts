/** Payments on the pages of `/ops`. */
import type { Schemas } from '@fitness/client';
import { LOCALES, translate } from '@fitness/shared/kernel/i18n/translate.ts';
import { call } from './call.ts';
import { idIn, type Operator } from './operator.ts';

export type Payment = Schemas['Payment'];

export const payments = call('GET /payments', ['payments.view_all']);
const payment = call('GET /payments/{id}', ['payments.view_all']);
export const balances = call('GET /payments/balance', ['payments.view_all']);

/** Undefined if the payment does not exist. */
export const readPayment = async (operator: Operator, id: string | undefined): Promise<Payment | undefined> =>
  (await payment.find(operator, { id: idIn(id) ?? 0 }))?.payment;

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
export const descriptionOf = ({ description, meta }: Payment): string | null => {
  const number = meta?.ref_number;
  if (description === null || description === number) return null;
  const words =
    number != null && description.endsWith(`\n${number}`)
      ? description.slice(0, -number.length - 1)
      : description;
  return DEFAULTS.has(words) ? null : words;
};
