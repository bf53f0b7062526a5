import { waitsForReview } from '@fitness/contracts/license.ts';
import {
  type ListPart,
  type PageOf,
  type PageRequest,
  pageOfOne,
  readParts,
} from '@fitness/shared/kernel/page.ts';
import type { Dependencies } from '../../dependencies.ts';
import { licenseOf } from '../../domain/trainer-license.ts';
import type { User } from '../../domain/user.ts';

/**
 * Lists accounts whose trainer license has not been reviewed, oldest document first. Accounts whose name has changed since
 * the review follow. With `userId`, lists only this account, if it is one of them.
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
    return pageOfOne(user !== null && waitsForReview(licenseOf(user)) ? user : undefined, request);
  };
};
