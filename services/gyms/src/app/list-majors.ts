/** GET /majors. */
import type { PageOf, PageRequest } from '@fitness/shared/kernel/page.ts';
import type { Dependencies } from '../dependencies.ts';
import type { MajorRow } from '../domain/reference-data.ts';

export const createListMajors =
  ({ store }: Dependencies) =>
  (page: PageRequest): Promise<PageOf<MajorRow>> =>
    store.referenceData.listMajors(page);
