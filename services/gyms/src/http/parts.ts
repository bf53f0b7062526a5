/** What the routes work with: the use cases, and how a gym is shown. */
import type { CreateGym } from '../app/create-gym.ts';
import type { DeleteGym } from '../app/delete-gym.ts';
import type { GetGym } from '../app/get-gym.ts';
import type { PresentGyms } from '../app/gym-resource.ts';
import type { ListGyms } from '../app/list-gyms.ts';
import type { ListCities, ListMajors } from '../app/list-reference.ts';
import type { RateGym } from '../app/rate-gym.ts';
import type { SetCrowd } from '../app/set-crowd.ts';
import type { SetWorkingPeriods } from '../app/set-working-periods.ts';
import type { UpdateGym } from '../app/update-gym.ts';

export interface HttpParts {
  createGym: CreateGym;
  deleteGym: DeleteGym;
  getGym: GetGym;
  listCities: ListCities;
  listGyms: ListGyms;
  listMajors: ListMajors;
  presentGyms: PresentGyms;
  rateGym: RateGym;
  setCrowd: SetCrowd;
  setWorkingPeriods: SetWorkingPeriods;
  updateGym: UpdateGym;
  /** The public origin, for the links of lists. */
  baseUrl: string;
}

export const TAG = 'Gyms';
