/** What a trainer sells, who sees it, and the words under which a list finds it (see domain/post.ts). */
export interface TrainingService {
  id: number;
  userId: number;
  title: string;
  description: string;
  /** Whole Tooman. */
  price: number;
  durationDays: number;
  isActive: boolean;
  createdAt: Date;
  updatedAt: Date;
  version: number;
}

export type ServiceScope = 'all' | 'active' | 'inactive';

/** `userId` undefined: of everybody. */
export const serviceFacet = (scope: ServiceScope, userId?: number): string =>
  userId === undefined ? scope : `${scope}/user:${userId}`;

/** The lists that a training service belongs to. */
export const serviceFacets = ({
  userId,
  isActive,
}: Pick<TrainingService, 'userId' | 'isActive'>): string[] => {
  const own: ServiceScope = isActive ? 'active' : 'inactive';
  return [serviceFacet('all'), serviceFacet(own), serviceFacet('all', userId), serviceFacet(own, userId)];
};
