import type { Route } from '@fitness/shared/http/define-route.ts';
import { deleteGymById } from './delete-gym.ts';
import { getCities } from './get-cities.ts';
import { getGymById } from './get-gym.ts';
import { getGyms } from './get-gyms.ts';
import { getMajors } from './get-majors.ts';
import type { HttpParts } from './parts.ts';
import { postGyms } from './post-gyms.ts';
import { putCrowd } from './put-crowd.ts';
import { putGym } from './put-gym.ts';
import { putRating } from './put-rating.ts';
import { putWorkingPeriods } from './put-working-periods.ts';

export const gymRoutes = (parts: HttpParts): Route[] => [
  getGyms(parts),
  postGyms(parts),
  getGymById(parts),
  putGym(parts),
  deleteGymById(parts),
  putWorkingPeriods(parts),
  putRating(parts),
  putCrowd(parts),
  getCities(parts),
  getMajors(parts),
];
