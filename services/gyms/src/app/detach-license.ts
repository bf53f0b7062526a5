import type { ClientSession } from '@fitness/shared/mongo/connect.ts';
import type { Dependencies } from '../dependencies.ts';
import { detachDocument } from '../domain/license.ts';

/** Records that media has deleted a license document. */
export const createDetachLicense =
  ({ store, clock }: Pick<Dependencies, 'store' | 'clock'>) =>
  async ({ gymId, mediaId }: { gymId: number; mediaId: number }, session: ClientSession): Promise<void> => {
    const gym = await store.gyms.find(gymId, session);
    const license = gym && detachDocument(gym.license, mediaId);
    if (gym === undefined || license === undefined) return;
    await store.gyms.update(session, gym, { license }, { now: clock.now(), keepVersion: true });
  };
