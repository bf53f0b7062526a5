import type { PageOf, PageRequest } from '@fitness/shared/kernel/page.ts';
import type { Dependencies } from '../dependencies.ts';
import { type Gym, waitsForReview } from '../domain/gym.ts';

/**
 * Gyms whose license nobody has reviewed, the oldest document first; then those whose name has changed since the review. With
 * `gymId` only this gym, if it is one of them.
 */
export const createListLicenseReviews =
  ({ store }: Pick<Dependencies, 'store'>) =>
  async (page: PageRequest, gymId: number | undefined): Promise<PageOf<Gym>> => {
    if (gymId === undefined) return store.gyms.listLicensesToReview(page);
    const gym = await store.gyms.find(gymId);
    const found = gym !== undefined && waitsForReview(gym) ? [gym] : [];
    const isPage = page.mode === 'page';
    const rows = isPage ? found.slice(page.skip) : found;
    return { rows, total: isPage ? found.length : undefined, next: undefined };
  };
