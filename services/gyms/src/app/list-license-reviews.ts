import { waitsForReview } from '@fitness/contracts/license.ts';
import { type PageOf, type PageRequest, pageOfOne } from '@fitness/shared/kernel/page.ts';
import type { Dependencies } from '../dependencies.ts';
import type { Gym } from '../domain/gym.ts';

/**
 * Lists gyms whose license is not reviewed yet, the oldest document first, then gyms whose name has changed since their review.
 * With `gymId`, lists only this gym, if it is one of them.
 */
export const createListLicenseReviews =
  ({ store }: Dependencies) =>
  async (page: PageRequest, gymId: number | undefined): Promise<PageOf<Gym>> => {
    if (gymId === undefined) return store.gyms.listLicensesToReview(page);
    const gym = await store.gyms.find(gymId);
    return pageOfOne(gym !== undefined && waitsForReview(gym.license) ? gym : undefined, page);
  };
