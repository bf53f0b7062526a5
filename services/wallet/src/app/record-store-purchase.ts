/** Records a purchase settled by an app store; no balance changes (specification 2.3, rule 3). */
import type { ClientSession } from '@fitness/shared/mongo/connect.ts';
import type { Dependencies } from '../dependencies.ts';
import { storePurchaseMeta, storePurchaseRows } from '../domain/booking.ts';
import { createEntry } from '../domain/ledger.ts';
import { newPayment } from '../domain/payment.ts';
import { publishPaymentBooked } from './publish.ts';

interface StorePurchase {
  storePurchaseId: number;
  userId: number;
  channel: string;
  productId: string;
  /** In Tooman. */
  amount: number;
  payableType: string;
  payableId: number;
  grantedAt: Date;
}

/** Runs in the transaction of `session`. A purchase that is already recorded does not change. */
export type RecordStorePurchase = (session: ClientSession, purchase: StorePurchase) => Promise<void>;

export const createRecordStorePurchase =
  ({ store, outbox, rates }: Dependencies): RecordStorePurchase =>
  async (session, purchase) => {
    const key = `store_purchase:${purchase.storePurchaseId}`;
    if ((await store.entries.find(key, session)) !== undefined) return;
    const { userId, amount, payableType, payableId } = purchase;
    const payment = newPayment({
      id: await store.payments.nextId(),
      userId,
      type: 'store_purchase',
      amount,
      payableType,
      payableId,
      meta: storePurchaseMeta(purchase, rates.vatPercent),
      isDone: true,
      createdAt: purchase.grantedAt,
    });
    const rows = storePurchaseRows(amount, rates.vatPercent);
    const entry = createEntry({ key, kind: 'store_purchase', rows, paymentIds: [payment.id] });
    await store.post(session, entry, [payment]);
    await publishPaymentBooked({ outbox }, session, payment);
  };
