import type { Dependencies } from '../dependencies.ts';
import { publishGrant } from './publish.ts';

/** Each grant is two writes, and a transaction has a time limit. */
const GRANTS_OF_A_TRANSACTION = 50;

/**
 * Publishes the start of every running grant again, for consumers that did not exist when it was granted. Returns the number of
 * grants. A repetition is a newer version with the same data.
 */
export const createPublishRunningGrants =
  (dependencies: Pick<Dependencies, 'store' | 'outbox' | 'clock'>) => async (): Promise<number> => {
    const { store, clock } = dependencies;
    let published = 0;
    for (const kind of ['premium', 'boost'] as const) {
      const ids = await store.grants.runningIds(kind, clock.now());
      for (let start = 0; start < ids.length; start += GRANTS_OF_A_TRANSACTION)
        await store.transaction(async (session) => {
          for (const id of ids.slice(start, start + GRANTS_OF_A_TRANSACTION)) {
            const repeated = await store.grants.repeatStart(session, kind, id, clock.now());
            if (repeated !== undefined)
              await publishGrant(dependencies, session, repeated.grant, repeated.version);
          }
        });
      published += ids.length;
    }
    return published;
  };
