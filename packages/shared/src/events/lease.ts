/** Lets one replica at a time publish the outbox, so that events of one aggregate leave in order. */
import type { Clock } from '../clock.ts';
import type { Connection } from '../mongo/connect.ts';
import { trusted } from '../mongo/connect.ts';
import { registerEventModels } from '../mongo/event-models.ts';
import { isDuplicateKey } from '../mongo/transaction.ts';

const LEASE_ID = 'outbox';

export interface Lease {
  /** Takes or prolongs it; false while another owner has it. */
  take(): Promise<boolean>;
  /** Whether it is still held, by this process's own stopwatch. */
  held(): boolean;
  release(): Promise<void>;
}

/**
 * A lease of `leaseMs` on this database's outbox. A holder that stalls for longer may publish beside the next one: an
 * event then arrives twice, which every consumer is made for. An owner that dies is succeeded after `leaseMs`.
 */
export const createLease = (options: {
  connection: Connection;
  clock: Clock;
  owner: string;
  leaseMs: number;
}): Lease => {
  const { connection, clock, owner, leaseMs } = options;
  const { leases } = registerEventModels(connection);
  let heldUntilMs = 0;
  return {
    take: async () => {
      const askedMs = performance.now();
      const now = clock.now();
      const free = { $or: [{ owner }, { until: trusted({ $lte: now }) }] };
      const until = new Date(now.getTime() + leaseMs);
      try {
        await leases.updateOne({ _id: LEASE_ID, ...free }, { $set: { owner, until } }, { upsert: true });
      } catch (error) {
        // The lease exists and is not free, so the upsert tried to insert a second one.
        if (isDuplicateKey(error)) return false;
        throw error;
      }
      heldUntilMs = askedMs + leaseMs;
      return true;
    },
    held: () => performance.now() < heldUntilMs,
    release: async () => {
      heldUntilMs = 0;
      await leases.updateOne({ _id: LEASE_ID, owner }, { $set: { until: new Date(0) } });
    },
  };
};
