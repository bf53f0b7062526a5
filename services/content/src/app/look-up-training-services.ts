import type { Dependencies } from '../dependencies.ts';
import { requestedIds } from './requested-ids.ts';

export interface TrainingServiceRow {
  id: number;
  user_id: number;
  title: string;
  is_active: boolean;
}

/** Training services for other services. Unknown ones are missing. */
export const createLookUpTrainingServices =
  ({ store }: Dependencies) =>
  async (ids: readonly number[]): Promise<TrainingServiceRow[]> => {
    const services = await store.trainingServices.findMany(requestedIds(ids));
    return services.map(({ id, user_id, title, is_active }) => ({ id, user_id, title, is_active }));
  };
