import { NO_MEDIA } from '@fitness/contracts/media-copy.ts';
import type { UserCaller } from '@fitness/shared/kernel/caller.ts';
import { forbidden, unavailable } from '@fitness/shared/kernel/error.ts';
import type { Dependencies } from '../dependencies.ts';
import { NEVER_BOOSTED } from '../domain/boost.ts';
import { userProfile } from '../domain/profile.ts';
import { activityOf, type TrainingService, type TrainingServiceFields } from '../domain/training-service.ts';
import { publishTrainingServiceChanged } from './publish.ts';
import {
  createFetchSeller,
  type TrainingServiceResource,
  toTrainingServiceResource,
} from './training-service-resource.ts';

/** 403 if the account was erased after the token was checked. */
export const createCreateTrainingService = (
  dependencies: Pick<Dependencies, 'store' | 'outbox' | 'sequences' | 'clock' | 'users'>,
) => {
  const { store, sequences, clock } = dependencies;
  const fetchSeller = createFetchSeller(dependencies);
  return async (caller: UserCaller, fields: TrainingServiceFields): Promise<TrainingServiceResource> => {
    const user = await fetchSeller(caller.userId, caller);
    if (user === undefined) throw unavailable(`identity does not know its own caller ${caller.userId}`);
    const now = clock.now();
    const service: TrainingService = {
      id: await sequences.next('training_services'),
      user_id: caller.userId,
      ...fields,
      created_at: now,
      updated_at: now,
      version: 1,
      boosted_until: NEVER_BOOSTED.endsAt,
      boost: null,
      media: NO_MEDIA,
    };
    const { ref, state } = userProfile(caller.userId);
    await store.profiles.insertIfMissing(ref, { state, version: 0 });
    await store.transaction(async (session) => {
      if (!(await store.profiles.lockUnlessGone(session, ref))) throw forbidden('the account is erased');
      await store.trainingServices.insert(session, service);
      const { id } = service;
      const counted = { shardKey: id, newest: id, changed: [id] };
      await store.counters.incrementServices(session, { [activityOf(service)]: 1 }, counted);
      await publishTrainingServiceChanged(dependencies, session, service);
    });
    return toTrainingServiceResource(service, user);
  };
};
