/**
 * Asks the store daily which purchases it has refunded. A refunded receipt, within 30 days of its redemption, ends its
 * grant; a refunded row leaves the refund queue, without a time limit.
 */
import type { Dependencies } from '../dependencies.ts';
import { slotOfGrant } from '../domain/grant.ts';
import {
  nextReconciliationAt,
  nextReconciliationRetryAt,
  RECONCILIATION_INTERVAL_MS,
  RECONCILIATION_RETRY_MS,
  type StorePurchase,
} from '../domain/purchase.ts';
import { publishGrantEnded, publishStorePurchaseGrantEnded } from './publish.ts';

type ReconcileDependencies = Pick<Dependencies, 'store' | 'channel' | 'clock' | 'outbox' | 'log'>;

const BATCH_SIZE = 200;

export const createReconcileRefunds = (dependencies: ReconcileDependencies) => async (): Promise<void> => {
  await reconcileReceipts(dependencies);
  await reconcileRefundQueue(dependencies);
};

interface ReconcilableRow {
  channel: string;
  purchaseToken: string;
  productId: string;
  createdAt: Date;
}

interface Reconciliation<Row> {
  rows: {
    dueForReconciliation(channel: string, now: Date, limit: number): Promise<Row[]>;
    claimReconciliation(row: Row, now: Date): Promise<boolean>;
    scheduleReconciliation(row: Row, next: Date | null): Promise<void>;
  };
  onRefunded: (row: Row) => Promise<void>;
  /** When to check again a row that is not refunded; null for never. */
  next: (row: Row, now: Date) => Date | null;
  /** When to check again if the store did not respond; null for never. */
  retry: (row: Row, now: Date) => Date | null;
}

const reconcile = async <Row extends ReconcilableRow>(
  { channel, clock, log }: ReconcileDependencies,
  { rows, onRefunded, next, retry }: Reconciliation<Row>,
): Promise<void> => {
  const claimed: Row[] = [];
  for (const row of await rows.dueForReconciliation(channel.name, clock.now(), BATCH_SIZE))
    if (await rows.claimReconciliation(row, clock.now())) claimed.push(row);
  const statuses = await channel.findRefunded(claimed.map((row) => ({ ...row, redeemedAt: row.createdAt })));
  for (const [index, row] of claimed.entries()) {
    try {
      const now = clock.now();
      const status = statuses[index];
      if (status === 'refunded') await onRefunded(row);
      else {
        const schedule = status === 'not_refunded' ? next : retry;
        await rows.scheduleReconciliation(row, schedule(row, now));
      }
    } catch (error) {
      // The claim has postponed this row, so a later round retries it. The other rows continue.
      log.error({ err: error, channel: channel.name }, 'the reconciliation of a purchase failed');
    }
  }
};

const reconcileReceipts = (dependencies: ReconcileDependencies): Promise<void> =>
  reconcile(dependencies, {
    rows: dependencies.store.purchases,
    onRefunded: (purchase) => endGrant(dependencies, purchase),
    next: ({ createdAt }, now) => nextReconciliationAt(createdAt, now),
    retry: ({ createdAt }, now) => nextReconciliationRetryAt(createdAt, now),
  });

const endGrant = async (dependencies: ReconcileDependencies, refunded: StorePurchase): Promise<void> => {
  const { store, clock, log } = dependencies;
  await store.transaction(async (session) => {
    const now = clock.now();
    const marked = await store.purchases.markGrantEnded(session, refunded, now);
    if (marked === undefined) return;
    const { purchase, version } = marked;
    const ended = await store.grants.end(session, purchase.grant.kind, purchase.grant.id, now);
    if (ended !== undefined) {
      const { grant } = ended;
      await store.slots.end(session, slotOfGrant(grant), grant.id, now);
      await publishGrantEnded(dependencies, session, grant, ended.version);
    }
    await publishStorePurchaseGrantEnded(dependencies, session, purchase, version, now);
  });
  log.info({ store_purchase_id: refunded.id }, 'the store refunded a purchase; its grant has ended');
};

const reconcileRefundQueue = (dependencies: ReconcileDependencies): Promise<void> =>
  reconcile(dependencies, {
    rows: dependencies.store.refunds,
    onRefunded: (refund) => dependencies.store.refunds.resolve(refund, 'refunded', dependencies.clock.now()),
    next: (_refund, now) => new Date(now.getTime() + RECONCILIATION_INTERVAL_MS),
    retry: (_refund, now) => new Date(now.getTime() + RECONCILIATION_RETRY_MS),
  });
