import type { ClientSession } from '@fitness/shared/mongo/connect.ts';
import type { Dependencies } from '../dependencies.ts';
import { boostSlot, type Target } from '../domain/target.ts';
import { publishGrantEnded } from './publish.ts';

/**
 * Ends the live boost of a deleted target and closes its slot, so no boost can start again. Runs in the transaction of
 * `session`.
 */
export const createEndTargetBoost =
  (dependencies: Pick<Dependencies, 'store' | 'clock' | 'outbox'>) =>
  async (session: ClientSession, target: Target): Promise<void> => {
    const { store, clock } = dependencies;
    const now = clock.now();
    const running = await store.slots.close(session, boostSlot(target), now);
    if (running === null) return;
    const ended = await store.grants.end(session, 'boost', running, now);
    if (ended !== undefined) await publishGrantEnded(dependencies, session, ended.grant, ended.version);
  };
