/** The sagas of purchases from the wallet. Every change of a state is conditional on the state before it. */
import type { Clock } from '@fitness/shared/kernel/clock.ts';
import { type ClientSession, trusted } from '@fitness/shared/mongo/connect.ts';
import { createDueIdQueue } from '@fitness/shared/mongo/due-queue.ts';
import {
  SAGA_LEASE_MS,
  sagaWaitMs,
  type WalletPurchase,
  type WalletPurchaseState,
} from '../domain/wallet-purchase.ts';
import { CLAIM_WAIT_MS, whenTimedOut } from './job-claim.ts';
import type { WalletPurchaseDocument } from './models/wallet-purchases.ts';
import type { Models } from './models.ts';
import { fromTargetFields, toTargetFields } from './target-fields.ts';

export interface WalletPurchases {
  /** Gives the lease to `leaseOwner`. */
  insert(session: ClientSession, purchase: WalletPurchase): Promise<void>;
  find(id: string, session?: ClientSession): Promise<WalletPurchase | undefined>;
  /** The user's newest purchase with this `Idempotency-Key` after `since`. */
  findByClientKey(userId: number, clientKey: string, since: Date): Promise<WalletPurchase | undefined>;
  /** Takes over an expired lease. Undefined if the saga has ended, or another process or transaction holds it. */
  takeOver(id: string, owner: string): Promise<WalletPurchase | undefined>;
  /** Extends the lease if its owner still holds it. */
  renew(purchase: WalletPurchase): Promise<void>;
  /** False if its state is not `from`. */
  move(
    session: ClientSession,
    id: string,
    from: WalletPurchaseState,
    to: 'granted' | 'refunded',
  ): Promise<boolean>;
  /** Marks that the lease holder stopped without a response from the wallet, so no request need wait for it. */
  markUnattended(purchase: WalletPurchase): Promise<void>;
  /**
   * Moves a charged purchase that cannot be granted to `refunding`. The caller holds the lease for {@link SAGA_LEASE_MS}.
   * False if its state has changed.
   */
  startRefund(session: ClientSession, purchase: WalletPurchase, because: string): Promise<boolean>;
  /** Moves it to `undone`. False if another process has taken the lease over, because that process may have charged. */
  undo(session: ClientSession, purchase: WalletPurchase, because: string): Promise<boolean>;
  /** Ids of purchases with an expired lease; users take turns. */
  due(limit: number): Promise<string[]>;
}

const fromDocument = (document: WalletPurchaseDocument): WalletPurchase => ({
  id: document._id,
  order: {
    userId: document.user_id,
    offer: document.offer,
    target: fromTargetFields(document),
  },
  amount: document.amount,
  grantId: document.grant_id,
  state: document.state,
  undoneBecause: document.undone_because,
  clientKey: document.client_key,
  leaseOwner: document.lease_owner,
  unattended: document.unattended,
  tries: document.tries,
  createdAt: document.created_at,
  startedAt: document.started_at ?? document.created_at,
});

const newestFirst = (a: WalletPurchaseDocument, b: WalletPurchaseDocument): number =>
  b.created_at.getTime() - a.created_at.getTime();

/** `realTime` is the clock of the leases. */
export const createWalletPurchases = ({ walletPurchases }: Models, realTime: Clock): WalletPurchases => {
  const takeDue = createDueIdQueue(walletPurchases, { due: 'lease_until', user: 'user_id' });
  const leaseEnd = (): Date => new Date(realTime.now().getTime() + SAGA_LEASE_MS);
  return {
    insert: async (session, { id, order, ...purchase }) => {
      const document: WalletPurchaseDocument = {
        _id: id,
        user_id: order.userId,
        offer: order.offer,
        ...toTargetFields(order.target),
        amount: purchase.amount,
        grant_id: purchase.grantId,
        state: purchase.state,
        undone_because: purchase.undoneBecause,
        client_key: purchase.clientKey,
        lease_owner: purchase.leaseOwner,
        lease_until: leaseEnd(),
        unattended: purchase.unattended,
        tries: purchase.tries,
        created_at: purchase.createdAt,
        started_at: purchase.startedAt,
      };
      await walletPurchases.create([document], { session });
    },
    find: async (id, session) => {
      const document = await walletPurchases
        .findById(id, null, session === undefined ? {} : { session })
        .lean<WalletPurchaseDocument>();
      return document === null ? undefined : fromDocument(document);
    },
    findByClientKey: async (userId, clientKey, since) => {
      const documents = await walletPurchases
        .find({ user_id: userId, client_key: clientKey, created_at: trusted({ $gt: since }) })
        .lean<WalletPurchaseDocument[]>();
      const newest = documents.sort(newestFirst)[0];
      return newest === undefined ? undefined : fromDocument(newest);
    },
    takeOver: async (id, owner) => {
      const document = await walletPurchases.findById(id, { tries: 1 }).lean<{ tries: number }>();
      if (document === null) return undefined;
      const now = realTime.now();
      const until = new Date(now.getTime() + sagaWaitMs(document.tries));
      const updated = await walletPurchases
        .findOneAndUpdate(
          { _id: id, lease_until: trusted({ $lte: now }) },
          { $set: { lease_owner: owner, lease_until: until, unattended: false }, $inc: { tries: 1 } },
          { returnDocument: 'after', maxTimeMS: CLAIM_WAIT_MS },
        )
        .lean<WalletPurchaseDocument>()
        .catch(whenTimedOut(null));
      return updated === null ? undefined : fromDocument(updated);
    },
    renew: async ({ id, leaseOwner }) => {
      const until = leaseEnd();
      await walletPurchases.updateOne(
        { _id: id, lease_owner: leaseOwner, lease_until: trusted({ $lt: until }) },
        { $set: { lease_until: until } },
        { maxTimeMS: CLAIM_WAIT_MS },
      );
    },
    move: async (session, id, from, to) => {
      const moved = await walletPurchases.updateOne(
        { _id: id, state: from },
        { $set: { state: to, lease_until: null } },
        { session },
      );
      return moved.matchedCount === 1;
    },
    markUnattended: async ({ id, leaseOwner }) => {
      await walletPurchases.updateOne(
        { _id: id, state: 'reserved', lease_owner: leaseOwner },
        { $set: { unattended: true } },
      );
    },
    startRefund: async (session, { id, state }, because) => {
      const moved = await walletPurchases.updateOne(
        { _id: id, state },
        { $set: { state: 'refunding', undone_because: because, lease_until: leaseEnd() } },
        { session },
      );
      return moved.matchedCount === 1;
    },
    undo: async (session, { id, leaseOwner }, because) => {
      const undone = await walletPurchases.updateOne(
        { _id: id, state: 'reserved', lease_owner: leaseOwner },
        { $set: { state: 'undone', undone_because: because, lease_until: null } },
        { session },
      );
      return undone.matchedCount === 1;
    },
    due: (limit) => takeDue(realTime.now(), limit),
  };
};
