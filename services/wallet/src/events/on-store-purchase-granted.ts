import { storePurchaseGranted } from '@fitness/proto/events/store-billing.ts';
import { type EventConsumer, onEvent } from '@fitness/shared/messaging/consumer.ts';
import type { UseCases } from '../use-cases.ts';

export const onStorePurchaseGranted = ({ recordStorePurchase }: UseCases): EventConsumer =>
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
