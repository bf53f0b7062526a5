import { storePurchaseGranted } from '@fitness/proto/events/store-billing.ts';
import { type EventConsumer, onEvent } from '@fitness/shared/events/consumer.ts';
import type { RecordStorePurchase } from '../app/record-store-purchase.ts';

/** Shows the purchase in the payment history; the balance is not touched. */
export const onStorePurchaseGranted = (recordStorePurchase: RecordStorePurchase): EventConsumer =>
  onEvent(storePurchaseGranted, async ({ data, time }, { session }) => {
    await recordStorePurchase(session, {
      storePurchaseId: data.store_purchase_id,
      userId: data.user_id,
      channel: data.channel,
      productId: data.product_id,
      amount: data.amount,
      payableType: data.payable_type,
      payableId: data.payable_id,
      grantedAt: time,
    });
  });
