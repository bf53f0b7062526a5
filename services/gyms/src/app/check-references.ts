/** Whether what a gym is to refer to exists; 422 under the field when it does not. */
import { invalid, type Message, message } from '@fitness/shared/error.ts';
import type { Parts } from './parts.ts';

export interface References {
  cityId?: number | null | undefined;
  majorIds?: readonly number[] | undefined;
  ownerId?: number | null | undefined;
}

/** Throws 422 naming every unknown reference; 503 when identity cannot say whether the user exists. */
export const checkReferences = async (
  { reference, users }: Pick<Parts, 'reference' | 'users'>,
  { cityId, majorIds = [], ownerId }: References,
): Promise<void> => {
  const unknown = message('validation.unknown');
  const fields: Record<string, Message> = {};
  const [cities, majors, owners] = await Promise.all([
    reference.cities(cityId == null ? [] : [cityId]),
    reference.majors(majorIds),
    users.getMany(ownerId == null ? [] : [ownerId]),
  ]);
  if (cityId != null && !cities.has(cityId)) fields.city_id = unknown;
  if (majorIds.some((id) => !majors.has(id))) fields.major_ids = unknown;
  if (ownerId != null && !owners.has(ownerId)) fields.user_id = unknown;
  if (Object.keys(fields).length > 0) throw invalid(fields);
};
