/** Cafe Bazaar's developer API, version 2. Here `consumptionState` 0 means consumed, and the paths end in a slash. */
import type { ProviderClient } from '@fitness/shared/http/provider-client.ts';
import { z } from 'zod';
import type { Verdict } from '../domain/verdict.ts';
import {
  ask,
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

export interface CafebazaarOptions {
  client: ProviderClient;
  baseUrl: string;
  apiSecret: string;
  packageName: string;
}

/** 0 purchased, 1 refunded. Whether it is consumed does not matter: our ledger decides about repeats. */
const purchaseSchema = z.object({ purchaseState: z.union([z.literal(0), z.literal(1)]) });
const errorSchema = z.object({ error: z.string() });

export const createCafebazaar = (options: CafebazaarOptions): StoreChannel => {
  const { client, baseUrl, packageName } = options;
  const headers = { 'cafebazaar-pishkhan-api-secret': options.apiSecret, accept: 'application/json' };

  const verify = ({ productId, purchaseToken }: StoreProduct): Promise<Verdict> => {
    const path = `${segment(packageName)}/inapp/${segment(productId)}/purchases/${segment(purchaseToken)}/`;
    const url = `${baseUrl}/api/validate/${path}`;
    return ask(exchange(client, { method: 'GET', url, headers }), (answer) => {
      // The only proof that there is no such purchase; a 404 of another kind is not about it.
      if (answer.status === 404 && readBody(errorSchema, answer)?.error === 'not_found')
        return { kind: 'not_purchased', reason: 'no_such_purchase' };
      const purchase = isOk(answer) ? readBody(purchaseSchema, answer) : undefined;
      if (purchase?.purchaseState === 1) return { kind: 'not_purchased', reason: 'refunded' };
      return purchase && { kind: 'purchased' };
    });
  };

  const settle = ({ purchaseToken }: StoreProduct): Promise<SettleOutcome> => {
    const sending = exchange(client, {
      method: 'POST',
      url: `${baseUrl}/api/consume/${segment(packageName)}/purchases/`,
      headers: { ...headers, 'content-type': 'application/json' },
      body: JSON.stringify({ token: purchaseToken }),
    });
    return tell(
      sending,
      (answer) => isAccepted(answer) || readBody(errorSchema, answer)?.error === 'already_consumed',
    );
  };

  return { name: 'cafebazaar', verify, settle, findRefunded: lookAtEach(verify) };
};
