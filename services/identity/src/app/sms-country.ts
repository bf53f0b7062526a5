import { invalid, message } from '@fitness/shared/kernel/error.ts';
import type { Dependencies } from '../dependencies.ts';
import { countryOf } from '../domain/phone.ts';

/** 422 for a phone of a country to which no SMS is sent: an SMS abroad can cost a hundred times as much. */
export const assertSmsCountry = (
  { smsCountries }: Pick<Dependencies, 'smsCountries'>,
  phone: string | undefined,
): void => {
  if (phone === undefined || smsCountries.has(countryOf(phone) ?? '')) return;
  throw invalid({ phone: message('validation.phone_country') });
};
