import { createAttachLicense } from './app/attach-license.ts';
import { createBlockers } from './app/blockers.ts';
import { createCreateGym } from './app/create-gym.ts';
import { createDeleteGym, createDeleteRatings } from './app/delete-gym.ts';
import { createDetachLicense } from './app/detach-license.ts';
import { createEndBoost } from './app/end-boost.ts';
import { createEraseAccount } from './app/erase-account.ts';
import { createGetGym } from './app/get-gym.ts';
import { createPresentGyms } from './app/gym-resource.ts';
import { createListGyms } from './app/list-gyms.ts';
import { createListLicenseReviews } from './app/list-license-reviews.ts';
import { createPrepareData } from './app/prepare-data.ts';
import { createRateGym } from './app/rate-gym.ts';
import { createRebuildBoosts } from './app/rebuild-boosts.ts';
import { createMediaCopyUseCases } from './app/save-media.ts';
import { createSetCrowd } from './app/set-crowd.ts';
import { createSetWorkingPeriods } from './app/set-working-periods.ts';
import { createUpdateGym } from './app/update-gym.ts';
import type { Dependencies } from './dependencies.ts';

export const createUseCases = (dependencies: Dependencies) => ({
  attachLicense: createAttachLicense(dependencies),
  blockers: createBlockers(dependencies),
  createGym: createCreateGym(dependencies),
  deleteGym: createDeleteGym(dependencies),
  deleteRatings: createDeleteRatings(dependencies),
  detachLicense: createDetachLicense(dependencies),
  eraseAccount: createEraseAccount(dependencies),
  findGyms: dependencies.store.gyms.findMany,
  getGym: createGetGym(dependencies),
  listCities: dependencies.store.referenceData.listCities,
  listGyms: createListGyms(dependencies),
  listLicenseReviews: createListLicenseReviews(dependencies),
  listMajors: dependencies.store.referenceData.listMajors,
  prepareData: createPrepareData(dependencies),
  presentGyms: createPresentGyms(dependencies),
  rateGym: createRateGym(dependencies),
  setCrowd: createSetCrowd(dependencies),
  setWorkingPeriods: createSetWorkingPeriods(dependencies),
  rebuildBoosts: createRebuildBoosts(dependencies),
  ...createMediaCopyUseCases(dependencies),
  updateBoost: dependencies.store.gyms.saveBoost,
  endBoost: createEndBoost(dependencies),
  updateGym: createUpdateGym(dependencies),
});

export type UseCases = ReturnType<typeof createUseCases>;
