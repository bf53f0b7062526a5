import type { Route } from '@fitness/shared/http/define-route.ts';
import type { UseCases } from '../use-cases.ts';
import { deleteGymRoute } from './delete-gym.ts';
import { getCitiesRoute } from './get-cities.ts';
import { getGymRoute } from './get-gym.ts';
import { getGymsRoute } from './get-gyms.ts';
import { getLicenseReviewsRoute } from './get-license-reviews.ts';
import { getMajorsRoute } from './get-majors.ts';
import { postGymsRoute } from './post-gyms.ts';
import { putCrowdRoute } from './put-crowd.ts';
import { putGymRoute } from './put-gym.ts';
import { putRatingRoute } from './put-rating.ts';
import { putWorkingPeriodsRoute } from './put-working-periods.ts';

/** `baseUrl` is the public origin, for the links in lists. */
export const createRoutes = (useCases: UseCases, { baseUrl }: { baseUrl: string }): Route[] => [
  getGymsRoute(useCases, baseUrl),
  postGymsRoute(useCases),
  getLicenseReviewsRoute(useCases, baseUrl),
  getGymRoute(useCases),
  putGymRoute(useCases),
  deleteGymRoute(useCases),
  putWorkingPeriodsRoute(useCases),
  putRatingRoute(useCases),
  putCrowdRoute(useCases),
  getCitiesRoute(useCases, baseUrl),
  getMajorsRoute(useCases, baseUrl),
];
