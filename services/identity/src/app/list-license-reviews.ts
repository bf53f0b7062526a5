import type { PageOf, PageRequest } from '@fitness/shared/kernel/page.ts';
import type { Dependencies } from '../dependencies.ts';
import type { User } from '../domain/user.ts';

/** Accounts whose trainer license nobody has reviewed, the oldest document first. */
export const createListLicenseReviews =
  ({ store }: Pick<Dependencies, 'store'>) =>
  async (request: PageRequest): Promise<PageOf<User>> => {
    const isPage = request.mode === 'page';
    const found = await store.users.licensesToReview({
      skip: isPage ? request.skip : 0,
      limit: request.perPage + 1,
      afterMediaId: isPage ? 0 : (request.after[0] ?? 0),
    });
    const rows = found.slice(0, request.perPage);
    const last = rows.at(-1)?.trainer_license_media_id;
    return {
      rows,
      total: isPage ? await store.users.countLicensesToReview() : undefined,
      next: found.length > rows.length && last != null ? [last] : undefined,
    };
  };
