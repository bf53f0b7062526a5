/** GET /cities and GET /majors. */
import type { PageOf, PageRequest } from '@fitness/shared/http/pagination.ts';
import type { MajorRow } from '../domain/reference-data.ts';
import type { City } from '../store/reference-store.ts';
import type { Parts } from './parts.ts';

export type ListCities = (
  filter: { stateId?: number | undefined },
  page: PageRequest,
) => Promise<PageOf<City>>;
export type ListMajors = (page: PageRequest) => Promise<PageOf<MajorRow>>;

export const createListCities =
  ({ reference }: Pick<Parts, 'reference'>): ListCities =>
  (filter, page) =>
    reference.listCities(filter, page);

export const createListMajors =
  ({ reference }: Pick<Parts, 'reference'>): ListMajors =>
  (page) =>
    reference.listMajors(page);
