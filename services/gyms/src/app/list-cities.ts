/** GET /cities. */
import type { PageOf, PageRequest } from '@fitness/shared/kernel/page.ts';
import type { Dependencies } from '../dependencies.ts';
import type { City } from '../store/reference-data.ts';

export const createListCities =
  ({ store }: Dependencies) =>
  (filter: { stateId?: number | undefined }, page: PageRequest): Promise<PageOf<City>> =>
    store.referenceData.listCities(filter, page);
