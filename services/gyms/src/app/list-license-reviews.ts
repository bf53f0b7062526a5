import type { PageOf, PageRequest } from '@fitness/shared/kernel/page.ts';
import type { Dependencies } from '../dependencies.ts';
import type { Gym } from '../domain/gym.ts';

/** Gyms whose license nobody has reviewed, the oldest document first. */
export const createListLicenseReviews =
  ({ store }: Pick<Dependencies, 'store'>) =>
  (page: PageRequest): Promise<PageOf<Gym>> =>
    store.gyms.listLicensesToReview(page);
