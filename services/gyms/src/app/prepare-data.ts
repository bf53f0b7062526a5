/** Prepares the reference data and the gym counters before the first request. */
import type { Dependencies } from '../dependencies.ts';
import { CITIES, MAJORS, STATES } from '../domain/reference-data.ts';

export const createPrepareData =
  ({ store }: Dependencies) =>
  async (): Promise<void> => {
    await store.referenceData.seed({ states: STATES, cities: CITIES, majors: MAJORS });
    await store.counters.prepare();
  };
