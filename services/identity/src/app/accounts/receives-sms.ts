import { invalid, message } from '@fitness/shared/kernel/error.ts';
import type { Dependencies } from '../../dependencies.ts';
import { countryOf, isLandline } from '../../domain/phone.ts';

/**
 * Throws 422 for a new phone that receives no SMS: a landline, or a phone in a country to which none are sent. An SMS abroad
 * can cost a hundred times as much.
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
