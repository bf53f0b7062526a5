import { type ListPart, type PageOf, type PageRequest, readParts } from '@fitness/shared/kernel/page.ts';
import type { Dependencies } from '../../dependencies.ts';
import { waitsForReview } from '../../domain/trainer-license.ts';
import type { User } from '../../domain/user.ts';

/**
 * Accounts whose trainer license nobody has reviewed, the oldest document first; then those whose name has changed since the
 * review. With `userId` only this account, if it is one of them.
 */
export const createListLicenseReviews = ({ store: { users } }: Pick<Dependencies, 'store'>) => {
  const parts: ListPart<User>[] = [
    {
      read: ({ after, ...window }) => users.licensesToReview({ ...window, afterMediaId: after }),
      count: users.countLicensesToReview,
      keyOf: (user) => user.trainer_license_media_id ?? 0,
    },
    {
      read: ({ after, ...window }) => users.renamedSinceReview({ ...window, afterId: after }),
      count: users.countRenamedSinceReview,
      keyOf: (user) => user._id,
    },
  ];
  return async (request: PageRequest, userId: number | undefined): Promise<PageOf<User>> => {
    if (userId === undefined) return readParts(parts, request);
    const user = await users.find(userId);
    const found = user !== null && waitsForReview(user) ? [user] : [];
    const isPage = request.mode === 'page';
    const rows = isPage ? found.slice(request.skip) : found;
    return { rows, total: isPage ? found.length : undefined, next: undefined };
  };
};
