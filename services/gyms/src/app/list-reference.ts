/** GET /cities and GET /majors. */
import type { PageOf, PageRequest } from '@fitness/shared/kernel/page.ts';
import type { Dependencies } from '../dependencies.ts';
import type { MajorRow } from '../domain/reference-data.ts';
import type { City } from '../store/reference-store.ts';

export const createListCities =
  ({ store }: Pick<Dependencies, 'store'>) =>
  (filter: { stateId?: number | undefined }, page: PageRequest): Promise<PageOf<City>> =>
    store.reference.listCities(filter, page);

export const createListMajors =
  ({ store }: Pick<Dependencies, 'store'>) =>
  (page: PageRequest): Promise<PageOf<MajorRow>> =>
    store.reference.listMajors(page);
