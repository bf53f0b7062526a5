/** The filters of a list of gyms: as conditions of the database, as keys of the list, and as a check of a row. */
import type { ListKey, ListRow } from '@fitness/shared/lists/list.ts';
import { type PipelineStage, type QueryFilter, trusted } from 'mongoose';
import type { Gym } from '../domain/gym.ts';
import { EVERYONE, type GymDocument, NOBODY } from './gym-document.ts';

/** `all` sees every gym, a user sees the active ones and their own, and a guest sees the active ones. */
export type ListViewer = { kind: 'all' } | { kind: 'user'; userId: number } | { kind: 'guest' };

export interface GymQuery {
  viewer: ListViewer;
  search?: string | undefined;
  cityId?: number | undefined;
  /** Only gyms with at least one of these majors. */
  majorIds?: readonly number[] | undefined;
  ownerId?: number | undefined;
}

export type GymFilter = QueryFilter<GymDocument>;

/** With more majors than this, a list reads the gyms of the city or all gyms instead: each key is a query. */
const MAJOR_KEYS_MAX = 5;

const anyOf = (values: readonly number[]) => {
  const [only] = values;
  return values.length === 1 && only !== undefined ? only : trusted({ $in: [...values] });
};

const visibleTo = (viewer: ListViewer) => {
  if (viewer.kind === 'all') return trusted({ $gte: NOBODY });
  return anyOf(viewer.kind === 'guest' ? [EVERYONE] : [EVERYONE, viewer.userId]);
};

/** The conditions of a list without its search text, usually the most selective one first. */
export const conditionsOf = ({ viewer, cityId, majorIds, ownerId }: GymQuery): GymFilter => ({
  ...(ownerId === undefined ? {} : { ownerId }),
  ...(cityId === undefined ? {} : { cityId }),
  ...(majorIds === undefined ? {} : { majorIds: anyOf(majorIds) }),
  visibleTo: visibleTo(viewer),
});

/**
 * Two stages, which MongoDB merges into one. The first has one indexed field, for servers whose planner uses an index only for
 * single-field conditions.
 */
export const toStages = (conditions: GymFilter): PipelineStage.Match[] => {
  const [[field, first] = ['', undefined], ...others] = Object.entries(conditions);
  return [{ $match: { [field]: first } }, { $match: Object.fromEntries(others) }];
};

/** Whether a gym meets the conditions of a list, apart from its search text. */
export const accepts =
  ({ viewer, cityId, majorIds, ownerId }: GymQuery) =>
  (gym: Pick<Gym, 'isActive' | 'ownerId' | 'cityId' | 'majorIds'>): boolean => {
    const isSeen =
      viewer.kind === 'all' || gym.isActive || (viewer.kind === 'user' && gym.ownerId === viewer.userId);
    return (
      isSeen &&
      (ownerId === undefined || gym.ownerId === ownerId) &&
      (cityId === undefined || gym.cityId === cityId) &&
      (majorIds === undefined || gym.majorIds.some((id) => majorIds.includes(id)))
    );
  };

/** The keys that together cover what a viewer sees. No gym matches two of them. */
export const scopeKeys = (viewer: ListViewer): ListKey[] => {
  if (viewer.kind === 'all') return [{ isActive: true }, { isActive: false }];
  const everyone = { visibleTo: EVERYONE };
  return viewer.kind === 'guest' ? [everyone] : [everyone, { visibleTo: viewer.userId }];
};

/** The keys of each filter. The keys of any one filter cover the whole list. A gym may match several keys of one filter. */
export const filterKeys = ({ ownerId, cityId, majorIds }: GymQuery): ListKey[][] => [
  ...(ownerId === undefined ? [] : [[{ ownerId }]]),
  ...(cityId === undefined ? [] : [[{ cityId }]]),
  ...(majorIds === undefined || majorIds.length > MAJOR_KEYS_MAX
    ? []
    : [majorIds.map((id) => ({ majorIds: id }))]),
];

/** Whether a list has a filter other than its viewer and its search text. */
export const isFiltered = ({ cityId, majorIds, ownerId }: GymQuery): boolean =>
  ownerId !== undefined || cityId !== undefined || majorIds !== undefined;

export const acceptsRow = (query: GymQuery) => {
  const accept = accepts(query);
  return (stored: ListRow): boolean => accept(stored as unknown as GymDocument);
};
