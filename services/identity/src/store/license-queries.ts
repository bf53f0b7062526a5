/** Lists and counts of accounts whose trainer license an operator should review. An index serves each query. */
import type { Connection } from '@fitness/shared/mongo/connect.ts';
import type { PipelineStage } from 'mongoose';
import type { User } from '../domain/user.ts';
import { toUser, userModel, WITHOUT_INTERNAL_FIELDS } from './user-document.ts';

/**
 * Two `$match` stages, which MongoDB treats as one. The first filters by a single indexed field, so that even simple query
 * planners use the index. It is the license document, because most accounts have none.
 */
const licensesToReview = (afterMediaId: number): PipelineStage.Match[] => [
  { $match: { trainer_license_media_id: { $gt: afterMediaId } } },
  { $match: { trainer_license_approved: null } },
];

/** Repeats the condition of its partial index. */
const RENAMED_SINCE_REVIEW: PipelineStage.Match = {
  $match: { trainer_license_reviewed_name: { $gt: '' } },
};

export const createLicenseQueries = (connection: Connection) => {
  const users = userModel(connection);
  const readWindow = async (
    stages: PipelineStage[],
    { skip, limit }: { skip: number; limit: number },
  ): Promise<User[]> => {
    const page = [{ $skip: skip }, { $limit: limit }, { $project: WITHOUT_INTERNAL_FIELDS }];
    return (await users.aggregate<User>([...stages, ...page])).map(toUser);
  };
  return {
    /** Accounts with a trainer license that has not been reviewed, oldest document first. */
    licensesToReview: (window: { skip: number; limit: number; afterMediaId: number }): Promise<User[]> =>
      readWindow(
        [...licensesToReview(window.afterMediaId), { $sort: { trainer_license_media_id: 1 } }],
        window,
      ),

    /** Accounts whose name has changed since their trainer license was reviewed, in the order of ids. */
    renamedSinceReview: (window: { skip: number; limit: number; afterId: number }): Promise<User[]> =>
      readWindow(
        [RENAMED_SINCE_REVIEW, { $match: { _id: { $gt: window.afterId } } }, { $sort: { _id: 1 } }],
        window,
      ),

    countRenamedSinceReview: async (): Promise<number> => {
      const [counted] = await users.aggregate<{ total: number }>([RENAMED_SINCE_REVIEW, { $count: 'total' }]);
      return counted?.total ?? 0;
    },

    countLicensesToReview: async (): Promise<number> => {
      const [counted] = await users.aggregate<{ total: number }>([
        ...licensesToReview(0),
        { $count: 'total' },
      ]);
      return counted?.total ?? 0;
    },
  };
};
