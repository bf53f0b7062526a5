import { invalid, message } from '@fitness/shared/kernel/error.ts';
import type { Dependencies } from '../../dependencies.ts';
import { countryOf, isLandline } from '../../domain/phone.ts';

/**
 * 422 for a phone that is to be stored and gets no SMS: a landline, or one of a country to which none is sent, because an
 * SMS abroad can cost a hundred times as much.
 */
export const assertReceivesSms = (
  { smsCountries }: Pick<Dependencies, 'smsCountries'>,
  phone: string | undefined,
): void => {
  if (phone === undefined) return;
  if (!smsCountries.has(countryOf(phone) ?? ''))
    throw invalid({ phone: message('validation.phone_country') });
  if (isLandline(phone)) throw invalid({ phone: message('validation.phone_landline') });
};
