import { invalid, type Message, message } from '@fitness/shared/kernel/error.ts';
import type { Dependencies } from '../dependencies.ts';
import type { GymDetails } from '../domain/gym-fields.ts';

type References = Partial<Pick<GymDetails, 'cityId' | 'majorIds' | 'ownerId'>>;

/** Throws 422 for every city, major and user that does not exist, and 503 when identity does not respond. */
export const checkReferences = async (
  { store, users }: Dependencies,
  { cityId, majorIds = [], ownerId }: References,
): Promise<void> => {
  const unknown = message('validation.unknown');
  const fields: Record<string, Message> = {};
  const [cities, majors, owners] = await Promise.all([
    store.referenceData.cities(cityId == null ? [] : [cityId]),
    store.referenceData.majors(majorIds),
    users.findRecords(ownerId == null ? [] : [ownerId]),
  ]);
  if (cityId != null && !cities.has(cityId)) fields.city_id = unknown;
  if (majorIds.some((id) => !majors.has(id))) fields.major_ids = unknown;
  if (ownerId != null && !owners.has(ownerId)) fields.user_id = unknown;
  if (Object.keys(fields).length > 0) throw invalid(fields);
};
