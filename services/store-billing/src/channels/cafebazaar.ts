/** Cafe Bazaar's developer API, version 2. Here `consumptionState` 0 means consumed, and the paths end in a slash. */
import type { ProviderResponse } from '@fitness/shared/http/provider-client.ts';
import { providerUrl } from '@fitness/shared/kernel/config.ts';
import { z } from 'zod';
import type { Verdict } from '../domain/verdict.ts';
import {
  type AcknowledgeOutcome,
  defineChannel,
  exchange,
  findRefundedOneByOne,
  isAccepted,
  isOk,
  readBody,
  type StoreProduct,
  segment,
  toAcknowledgeOutcome,
  toVerdict,
} from './channel.ts';
import { packageName, secret } from './variables.ts';

/** 0 purchased, 1 refunded. The consumption state does not matter, because our ledger detects repeats. */
const purchaseSchema = z.object({ purchaseState: z.union([z.literal(0), z.literal(1)]) });
const errorSchema = z.object({ error: z.string(), error_description: z.string().optional() });

/**
 * Only `not_found` proves that there is no such purchase. `invalid_value` is about our configuration: the package or the
 * product.
 */
const readNotFound = (answer: ProviderResponse): Verdict | undefined => {
  const refusal = readBody(errorSchema, answer);
  if (refusal?.error === 'not_found') return { kind: 'not_purchased', reason: 'no_such_purchase' };
  if (refusal?.error === 'invalid_value' && /package/i.test(refusal.error_description ?? ''))
    return { kind: 'credentials_refused', detail: 'the package is unknown' };
  return undefined;
};

export const cafebazaar = defineChannel({
  name: 'cafebazaar',
  variables: {
    CAFEBAZAAR_BASE_URL: providerUrl('https://pardakht.cafebazaar.ir/devapi/v2'),
    CAFEBAZAAR_API_SECRET: secret,
    CAFEBAZAAR_PACKAGE: packageName,
  },
  create: (config, { client }) => {
    const api = `${config.CAFEBAZAAR_BASE_URL}/api`;
    const packageSegment = segment(config.CAFEBAZAAR_PACKAGE);
    const headers = {
      'cafebazaar-pishkhan-api-secret': config.CAFEBAZAAR_API_SECRET,
      accept: 'application/json',
    };

    const verify = ({ productId, purchaseToken }: StoreProduct): Promise<Verdict> => {
      const path = `${packageSegment}/inapp/${segment(productId)}/purchases/${segment(purchaseToken)}/`;
      const url = `${api}/validate/${path}`;
      return toVerdict(exchange(client, { method: 'GET', url, headers }), (answer) => {
        if (answer.status === 404) return readNotFound(answer);
        const purchase = isOk(answer) ? readBody(purchaseSchema, answer) : undefined;
        if (purchase?.purchaseState === 1) return { kind: 'not_purchased', reason: 'refunded' };
        return purchase && { kind: 'purchased' };
      });
    };

    const acknowledge = ({ purchaseToken }: StoreProduct): Promise<AcknowledgeOutcome> => {
      const sending = exchange(client, {
        method: 'POST',
        url: `${api}/consume/${packageSegment}/purchases/`,
        headers: { ...headers, 'content-type': 'application/json' },
        body: JSON.stringify({ token: purchaseToken }),
      });
      return toAcknowledgeOutcome(
        sending,
        (answer) => isAccepted(answer) || readBody(errorSchema, answer)?.error === 'already_consumed',
      );
    };

    return { verify, acknowledge, findRefunded: findRefundedOneByOne(verify) };
  },
});
