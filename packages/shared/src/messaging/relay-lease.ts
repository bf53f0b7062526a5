/** Lets one replica at a time publish the outbox, which keeps the events of one aggregate in order. */
import type { Clock } from '../kernel/clock.ts';
import { type Connection, trusted } from '../mongo/connect.ts';
import { isDuplicateKey } from '../mongo/transaction.ts';
import { registerEventModels } from './models.ts';

const LEASE_ID = 'outbox';
/** Maximum time for which a crashed replica keeps the others from publishing. */
const LEASE_MS = 10_000;

export interface RelayLease {
  /** Takes or renews the lease; false while another owner holds it. */
  take(): Promise<boolean>;
  /** Whether the lease is still held, by the monotonic clock of this process. */
  isHeld(): boolean;
  release(): Promise<void>;
}

/**
 * A lease of ten seconds on the outbox of this database. After a crash the next owner takes it when it expires. An owner
 * that stalls for longer may publish at the same time as the next one. Events then arrive twice, and the inbox drops the
 * second.
 */
export const createRelayLease = (options: {
  connection: Connection;
  realTime: Clock;
  owner: string;
}): RelayLease => {
  const { connection, realTime, owner } = options;
  const { leases } = registerEventModels(connection);
  let heldUntilMs = 0;
  return {
    take: async () => {
      const askedMs = performance.now();
      const now = realTime.now();
      const free = { $or: [{ owner }, { until: trusted({ $lte: now }) }] };
      const until = new Date(now.getTime() + LEASE_MS);
      try {
        await leases.updateOne({ _id: LEASE_ID, ...free }, { $set: { owner, until } }, { upsert: true });
      } catch (error) {
        // Another owner holds the lease: no document matched, and the upsert tried to insert a second one.
        if (isDuplicateKey(error)) return false;
        throw error;
      }
      heldUntilMs = askedMs + LEASE_MS;
      return true;
    },
    isHeld: () => performance.now() < heldUntilMs,
    release: async () => {
      heldUntilMs = 0;
      await leases.updateOne({ _id: LEASE_ID, owner }, { $set: { until: new Date(0) } });
    },
  };
};
