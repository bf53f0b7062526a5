/** Cafe Bazaar's developer API, version 2. Here `consumptionState` 0 means consumed, and the paths end in a slash. */
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

  const verify = async ({ productId, purchaseToken }: StoreProduct): Promise<Verdict> => {
    const path = `${segment(packageName)}/inapp/${segment(productId)}/purchases/${segment(purchaseToken)}/`;
    const sent = await exchange(client, {
      method: 'GET',
      url: `${baseUrl}/api/validate/${path}`,
      headers,
    });
    if ('verdict' in sent) return sent.verdict;
    const { answer } = sent;
    // The only proof that there is no such purchase; a 404 of another kind is not about it.
    if (answer.status === 404 && readBody(errorSchema, answer)?.error === 'not_found')
      return { kind: 'not_purchased', reason: 'no_such_purchase' };
    const purchase = isOk(answer) ? readBody(purchaseSchema, answer) : undefined;
    if (purchase === undefined) return unreadable(answer);
    return purchase.purchaseState === 0
      ? { kind: 'purchased' }
      : { kind: 'not_purchased', reason: 'refunded' };
  };

  const settle = async ({ purchaseToken }: StoreProduct): Promise<SettleOutcome> => {
    const sent = await exchange(client, {
      method: 'POST',
      url: `${baseUrl}/api/consume/${segment(packageName)}/purchases/`,
      headers: { ...headers, 'content-type': 'application/json' },
      body: JSON.stringify({ token: purchaseToken }),
    });
    if ('verdict' in sent) return failed(sent.verdict);
    const { answer } = sent;
    // An HTML page with 200 is some proxy's, not the store's yes.
    if (isOk(answer) && isJson(answer.text)) return { outcome: 'done' };
    if (readBody(errorSchema, answer)?.error === 'already_consumed') return { outcome: 'done' };
    return failed(unreadable(answer));
  };

  return { name: 'cafebazaar', verify, settle, findRefunded: lookAtEach(verify) };
};

const isJson = (text: string): boolean => {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return text.trim() === '';
  }
};
