/**
 * The daily second look at redeemed purchases, for thirty days: what the store took back ends its grant, once. And at
 * what is owed, for as long as it is.
 */
import { storePurchaseGrantEnded } from '@fitness/proto/events/store-billing.ts';
import { formatTimestamp } from '@fitness/shared/clock.ts';
import {
  LOOK_LEASE_MS,
  nextLookAt,
  nextTryAt,
  SECOND_LOOK_INTERVAL_MS,
  type StorePurchase,
} from '../domain/purchase.ts';
import { boostSlot, premiumSlot } from '../domain/target.ts';
import { announceBoostEnded } from './announce.ts';
import type { BillingDeps } from './deps.ts';

type Parts = Pick<BillingDeps, 'store' | 'channel' | 'clock' | 'outbox' | 'log'>;

const AT_ONCE = 200;

export const createLookAgain =
  (deps: Parts): (() => Promise<void>) =>
  async () => {
    await lookAtReceipts(deps);
    await lookAtRefunds(deps);
  };

interface Looked {
  channel: string;
  purchaseToken: string;
  productId: string;
  createdAt: Date;
}

interface Rows<Row> {
  toLookAt(channel: string, now: Date, limit: number): Promise<Row[]>;
  claimLook(row: Row, now: Date): Promise<boolean>;
  looked(row: Row, next: Date | null): Promise<void>;
}

interface Look<Row> {
  rows: Rows<Row>;
  onRefunded: (row: Row) => Promise<void>;
  /** When to look again at one that stands; null for never. */
  next: (row: Row, now: Date) => Date | null;
  /** The same when the store has said nothing. */
  retry: (row: Row, now: Date) => Date | null;
}

/** Takes the due ones, asks the store about all of them, and sees to each by itself: what fails has its turn again. */
const lookAt = async <Row extends Looked>(
  { channel, clock, log }: Parts,
  { rows, onRefunded, next, retry }: Look<Row>,
): Promise<void> => {
  const mine: Row[] = [];
  for (const row of await rows.toLookAt(channel.name, clock.now(), AT_ONCE))
    if (await rows.claimLook(row, clock.now())) mine.push(row);
  const standings = await channel.findRefunded(mine.map((row) => ({ ...row, redeemedAt: row.createdAt })));
  for (const [index, row] of mine.entries()) {
    try {
      const now = clock.now();
      if (standings[index] === 'refunded') await onRefunded(row);
      else if (standings[index] === 'standing') await rows.looked(row, next(row, now));
      else await rows.looked(row, retry(row, now));
    } catch (error) {
      log.error({ err: error, channel: channel.name }, 'the second look at a purchase failed');
    }
  }
};

const lookAtReceipts = (deps: Parts): Promise<void> =>
  lookAt(deps, {
    rows: deps.store.purchases,
    onRefunded: (purchase) => endGrant(deps, purchase),
    next: ({ createdAt }, now) => nextLookAt(createdAt, now),
    retry: ({ createdAt }, now) => nextTryAt(createdAt, now),
  });

const endGrant = async (deps: Parts, taken: StorePurchase): Promise<void> => {
  const { store, clock, outbox, log } = deps;
  const { id } = taken;
  await store.transaction(async (session) => {
    const now = clock.now();
    const marked = await store.purchases.markEnded(session, taken, now);
    if (marked === undefined) return;
    const { purchase, version } = marked;
    const ended = await store.grants.end(session, purchase.grant.kind, purchase.grant.id, now);
    if (ended !== undefined) {
      const { grant } = ended;
      const slot = grant.kind === 'premium' ? premiumSlot(grant.userId) : boostSlot(grant.target);
      await store.slots.end(session, slot, grant.id, now);
      if (grant.kind === 'boost') await announceBoostEnded(deps, session, grant, ended.version);
    }
    await outbox.emit(session, storePurchaseGrantEnded, {
      subject: id,
      aggregateVersion: version,
      data: { store_purchase_id: id, user_id: purchase.userId, ended_at: formatTimestamp(now) },
    });
  });
  log.info({ store_purchase_id: id }, 'the store took a purchase back; its grant has ended');
};

/** What the operators owe leaves the queue once the store says that it is paid back, however late that is. */
const lookAtRefunds = (deps: Parts): Promise<void> =>
  lookAt(deps, {
    rows: deps.store.refunds,
    onRefunded: (refund) => deps.store.refunds.resolve(refund, 'refunded', deps.clock.now()),
    next: (_refund, now) => new Date(now.getTime() + SECOND_LOOK_INTERVAL_MS),
    retry: (_refund, now) => new Date(now.getTime() + LOOK_LEASE_MS),
  });
