/** Myket's partner API. The HTTP status decides; `consumptionState` 0 means not consumed. */
import type { ProviderClient } from '@fitness/shared/http/provider-client.ts';
import { z } from 'zod';
import type { Verdict } from '../domain/verdict.ts';
import {
  exchange,
  failed,
  isOk,
  lookAtEach,
  readBody,
  type SettleOutcome,
  type StoreChannel,
  type StoreProduct,
  segment,
  unreadable,
} from './channel.ts';

export interface MyketOptions {
  client: ProviderClient;
  baseUrl: string;
  accessToken: string;
  packageName: string;
}

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

  const verify = async ({ productId, purchaseToken }: StoreProduct): Promise<Verdict> => {
    const sent = await exchange(client, {
      method: 'POST',
      url: `${products}/${segment(productId)}/verify`,
      headers,
      body: JSON.stringify({ tokenId: purchaseToken }),
    });
    if ('verdict' in sent) return sent.verdict;
    const { answer } = sent;
    // With the store's own envelope around it: a 404 of a proxy is not its word.
    if (answer.status === 404 && readBody(errorSchema, answer) !== undefined)
      return { kind: 'not_purchased', reason: 'no_such_purchase' };
    const purchase = isOk(answer) ? readBody(purchaseSchema, answer) : undefined;
    if (purchase === undefined) return unreadable(answer);
    return purchase.purchaseState === 0
      ? { kind: 'purchased' }
      : { kind: 'not_purchased', reason: 'canceled' };
  };

  const settle = async ({ productId, purchaseToken }: StoreProduct): Promise<SettleOutcome> => {
    const sent = await exchange(client, {
      method: 'PUT',
      url: `${products}/${segment(productId)}/tokens/${segment(purchaseToken)}/consume`,
      headers,
      body: '{}',
    });
    if ('verdict' in sent) return failed(sent.verdict);
    const { answer } = sent;
    if (isOk(answer) && readBody(z.unknown(), answer) !== undefined) return { outcome: 'done' };
    // The code's name is not documented; after a refusal the purchase itself says whether it is consumed.
    return (await isConsumed({ productId, purchaseToken }))
      ? { outcome: 'done' }
      : failed(unreadable(answer));
  };

  const isConsumed = async ({ productId, purchaseToken }: StoreProduct): Promise<boolean> => {
    const sent = await exchange(client, {
      method: 'POST',
      url: `${products}/${segment(productId)}/verify`,
      headers,
      body: JSON.stringify({ tokenId: purchaseToken }),
    });
    if ('verdict' in sent || !isOk(sent.answer)) return false;
    return readBody(z.object({ consumptionState: z.literal(1) }), sent.answer) !== undefined;
  };

  return { name: 'myket', verify, settle, findRefunded: lookAtEach(verify) };
};
