/** Myket's partner API. The HTTP status decides; `consumptionState` 0 means not consumed. */
import { providerUrl } from '@fitness/shared/kernel/config.ts';
import { z } from 'zod';
import type { Verdict } from '../domain/verdict.ts';
import {
  type AcknowledgeOutcome,
  defineChannel,
  type Exchange,
  exchange,
  findRefundedOneByOne,
  isAccepted,
  isConsumed,
  isOk,
  readBody,
  type StoreProduct,
  segment,
  toAcknowledgeOutcome,
  toVerdict,
} from './channel.ts';
import { packageName, secret } from './variables.ts';

/** 0 success, 1 failed. A redeemed purchase that is failed now was refunded. */
const purchaseSchema = z.object({ purchaseState: z.union([z.literal(0), z.literal(1)]) });
const errorSchema = z.object({ messageCode: z.string() });

export const myket = defineChannel({
  name: 'myket',
  variables: {
    MYKET_BASE_URL: providerUrl('https://developer.myket.ir/api/partners'),
    MYKET_ACCESS_TOKEN: secret,
    MYKET_PACKAGE: packageName,
  },
  create: (config, { client }) => {
    const applicationUrl = `${config.MYKET_BASE_URL}/applications/${segment(config.MYKET_PACKAGE)}`;
    const productsUrl = `${applicationUrl}/purchases/products`;
    const headers = {
      'x-access-token': config.MYKET_ACCESS_TOKEN,
      'content-type': 'application/json',
      accept: 'application/json',
    };

    const sendVerify = ({ productId, purchaseToken }: StoreProduct): Promise<Exchange> =>
      exchange(client, {
        method: 'POST',
        url: `${productsUrl}/${segment(productId)}/verify`,
        headers,
        body: JSON.stringify({ tokenId: purchaseToken }),
      });

    const verify = (product: StoreProduct): Promise<Verdict> =>
      toVerdict(sendVerify(product), (answer) => {
        // Only with the store's error body, because a proxy's 404 is not about the purchase.
        if (answer.status === 404 && readBody(errorSchema, answer) !== undefined)
          return { kind: 'not_purchased', reason: 'no_such_purchase' };
        const purchase = isOk(answer) ? readBody(purchaseSchema, answer) : undefined;
        if (purchase?.purchaseState === 1) return { kind: 'not_purchased', reason: 'canceled' };
        return purchase && { kind: 'purchased' };
      });

    const acknowledge = (product: StoreProduct): Promise<AcknowledgeOutcome> => {
      const token = `${segment(product.productId)}/tokens/${segment(product.purchaseToken)}`;
      const url = `${productsUrl}/${token}/consume`;
      return toAcknowledgeOutcome(
        exchange(client, { method: 'PUT', url, headers, body: '{}' }),
        // The error code of a consumed purchase is not documented, so the purchase itself is read.
        async (answer) => isAccepted(answer) || isConsumed(await sendVerify(product)),
      );
    };

    return { verify, acknowledge, findRefunded: findRefundedOneByOne(verify) };
  },
});
