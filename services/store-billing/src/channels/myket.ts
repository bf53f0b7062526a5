/** Myket's partner API. The HTTP status decides; `consumptionState` 0 means not consumed. */
import type { ProviderClient } from '@fitness/shared/http/provider-client.ts';
import { z } from 'zod';
import type { Verdict } from '../domain/verdict.ts';
import {
  ask,
  type Exchange,
  exchange,
  isAccepted,
  isOk,
  lookAtEach,
  readBody,
  type SettleOutcome,
  type StoreChannel,
  type StoreProduct,
  segment,
  tell,
} from './channel.ts';

export interface MyketOptions {
  client: ProviderClient;
  baseUrl: string;
  accessToken: string;
  packageName: string;
}

const consumedSchema = z.object({ consumptionState: z.literal(1) });

/** 0 success, 1 failed; a purchase that was a success once and is failed now was taken back. */
const purchaseSchema = z.object({ purchaseState: z.union([z.literal(0), z.literal(1)]) });
const errorSchema = z.object({ messageCode: z.string() });

export const createMyket = (options: MyketOptions): StoreChannel => {
  const { client, packageName } = options;
  const products = `${options.baseUrl}/applications/${segment(packageName)}/purchases/products`;
  const headers = {
    'x-access-token': options.accessToken,
    'content-type': 'application/json',
    accept: 'application/json',
  };

  const sendVerify = ({ productId, purchaseToken }: StoreProduct): Promise<Exchange> =>
    exchange(client, {
      method: 'POST',
      url: `${products}/${segment(productId)}/verify`,
      headers,
      body: JSON.stringify({ tokenId: purchaseToken }),
    });

  const verify = (product: StoreProduct): Promise<Verdict> =>
    ask(sendVerify(product), (answer) => {
      // With the store's own envelope around it: a 404 of a proxy is not its word.
      if (answer.status === 404 && readBody(errorSchema, answer) !== undefined)
        return { kind: 'not_purchased', reason: 'no_such_purchase' };
      const purchase = isOk(answer) ? readBody(purchaseSchema, answer) : undefined;
      if (purchase?.purchaseState === 1) return { kind: 'not_purchased', reason: 'canceled' };
      return purchase && { kind: 'purchased' };
    });

  const settle = (product: StoreProduct): Promise<SettleOutcome> => {
    const token = `${segment(product.productId)}/tokens/${segment(product.purchaseToken)}`;
    const url = `${products}/${token}/consume`;
    return tell(
      exchange(client, { method: 'PUT', url, headers, body: '{}' }),
      // The code's name is not documented; after a refusal the purchase itself says whether it is consumed.
      async (answer) => isAccepted(answer) || isConsumed(await sendVerify(product)),
    );
  };

  return { name: 'myket', verify, settle, findRefunded: lookAtEach(verify) };
};

const isConsumed = (sent: Exchange): boolean =>
  'answer' in sent && isOk(sent.answer) && readBody(consumedSchema, sent.answer) !== undefined;
