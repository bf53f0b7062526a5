/** Before the first request: the reference data and the counters of gyms. */
import type { Dependencies } from '../dependencies.ts';
import { CITIES, MAJORS, STATES } from '../domain/reference-data.ts';

export const createPrepareData =
  ({ store }: Pick<Dependencies, 'store'>) =>
  async (): Promise<void> => {
    await store.referenceData.seed({ states: STATES, cities: CITIES, majors: MAJORS });
    await store.counters.prepare();
  };
