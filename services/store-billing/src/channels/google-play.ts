/**
 * Google Play's Android Publisher API, version 3, for one-time products. An access token is obtained with the key of a
 * service account and lasts an hour. Refunds are read as a list.
 */
import { createGoogleAccessTokens } from '@fitness/shared/http/google-access-tokens.ts';
import type { ProviderRequest, ProviderResponse } from '@fitness/shared/http/provider-client.ts';
import { DAY_MS, MINUTE_MS } from '@fitness/shared/kernel/clock.ts';
import { providerUrl } from '@fitness/shared/kernel/config.ts';
import { z } from 'zod';
import type { Unpaid, Verdict } from '../domain/verdict.ts';
import {
  type AcknowledgeOutcome,
  defineChannel,
  type Exchange,
  exchange,
  isAccepted,
  isConsumed,
  isOk,
  type RefundStatus,
  readBody,
  type StoreProduct,
  segment,
  toAcknowledgeOutcome,
  toVerdict,
} from './channel.ts';
import { packageName, secret } from './variables.ts';

const SCOPE = 'https://www.googleapis.com/auth/androidpublisher';
const MAX_VOIDED_PAGES = 100;
/** Google lists refunds of the last 30 days. The margin allows for clock differences. */
const VOIDED_WINDOW_MS = 30 * DAY_MS - MINUTE_MS;

const errorSchema = z.object({
  error: z.object({
    code: z.int(),
    message: z.string().optional(),
    errors: z.array(z.object({ reason: z.string().optional() })).optional(),
  }),
});

/**
 * The reasons of a 400 that are about the token. `invalid` (`invalidValue` in Google's table): malformed or made up. Other
 * reasons, such as `required`, say nothing about the purchase.
 */
const REFUSED_TOKENS: Readonly<Record<string, Verdict>> = {
  invalid: { kind: 'not_purchased', reason: 'no_such_purchase' },
  invalidValue: { kind: 'not_purchased', reason: 'no_such_purchase' },
  purchaseTokenDoesNotMatchPackageName: { kind: 'not_purchased', reason: 'no_such_purchase' },
  productNotOwnedByUser: { kind: 'not_purchased', reason: 'no_such_purchase' },
  purchaseTokenDoesNotMatchProductId: { kind: 'not_purchased', reason: 'other_product' },
};
/** Reasons with which Google reports exhausted quotas as 403. */
const QUOTA = /^(?:quota|rateLimit|userRateLimit|dailyLimit)Exceeded$/;

const reasonOf = (answer: ProviderResponse): string | undefined => {
  const error = readBody(errorSchema, answer)?.error;
  if (error === undefined) return undefined;
  return error.errors?.[0]?.reason ?? (error.message === 'Invalid Value' ? 'invalid' : '');
};

/** What a 4xx says about the purchase; undefined for nothing. The README has the sources. */
const readRefusal = (answer: ProviderResponse): Verdict | undefined => {
  const reason = reasonOf(answer);
  // Not from Google, but from a proxy.
  if (reason === undefined) return undefined;
  const { status } = answer;
  switch (status) {
    case 400:
      return Object.hasOwn(REFUSED_TOKENS, reason) ? REFUSED_TOKENS[reason] : undefined;
    case 404:
    case 410:
      return reason === 'applicationNotFound'
        ? { kind: 'credentials_refused', detail: 'the package is unknown' }
        : { kind: 'not_purchased', reason: 'no_such_purchase' };
    case 409:
      return { kind: 'unreachable', detail: `HTTP ${status}` };
    default:
      return undefined;
  }
};

/** 0 purchased, 1 cancelled, 2 pending. No `purchaseType` means paid, and no `quantity` means one. */
const purchaseSchema = z.object({
  purchaseState: z.union([z.literal(0), z.literal(1), z.literal(2)]),
  productId: z.string().optional(),
  purchaseType: z.int().optional(),
  quantity: z.int().min(1).optional(),
});
const UNPAID: Readonly<Record<number, Unpaid>> = { 0: 'test', 1: 'promo', 2: 'rewarded' };
const NOT_PURCHASED = {
  1: { kind: 'not_purchased', reason: 'canceled' },
  2: { kind: 'not_purchased', reason: 'pending' },
} as const satisfies Record<number, Verdict>;
const isQuota = (refusal: ProviderResponse): boolean => QUOTA.test(reasonOf(refusal) ?? '');
const voidedSchema = z.object({
  voidedPurchases: z.array(z.object({ purchaseToken: z.string() })).default([]),
  tokenPagination: z.object({ nextPageToken: z.string().optional() }).optional(),
});

/** What a response says about the purchase; undefined for nothing. */
const readPurchase = (product: StoreProduct, answer: ProviderResponse): Verdict | undefined => {
  if (!isOk(answer)) return readRefusal(answer);
  const purchase = readBody(purchaseSchema, answer);
  if (purchase === undefined) return undefined;
  if (purchase.productId !== undefined && purchase.productId !== product.productId)
    return { kind: 'not_purchased', reason: 'other_product' };
  const { purchaseState, purchaseType, quantity = 1 } = purchase;
  if (purchaseState !== 0) return NOT_PURCHASED[purchaseState];
  const unpaid = purchaseType === undefined ? undefined : UNPAID[purchaseType];
  return {
    kind: 'purchased',
    ...(unpaid === undefined ? {} : { unpaid }),
    ...(quantity === 1 ? {} : { quantity }),
  };
};

/** `isComplete`: whether a purchase that is not listed is not refunded. */
const listVoided = async (
  send: (request: ProviderRequest) => Promise<Exchange>,
  purchasesUrl: string,
  from: Date,
): Promise<{ voided: Set<string>; isComplete: boolean }> => {
  const voided = new Set<string>();
  let next: string | undefined;
  for (let page = 0; page < MAX_VOIDED_PAGES; page += 1) {
    const query = new URLSearchParams({ startTime: String(from.getTime()), maxResults: '1000' });
    if (next !== undefined) query.set('token', next);
    const sent = await send({
      method: 'GET',
      url: `${purchasesUrl}/voidedpurchases?${query.toString()}`,
    });
    const list = 'answer' in sent && isOk(sent.answer) ? readBody(voidedSchema, sent.answer) : undefined;
    if (list === undefined) break;
    for (const { purchaseToken } of list.voidedPurchases) voided.add(purchaseToken);
    next = list.tokenPagination?.nextPageToken;
    if (next === undefined) return { voided, isComplete: true };
  }
  return { voided, isComplete: false };
};

export const googlePlay = defineChannel({
  name: 'google_play',
  variables: {
    GOOGLE_PLAY_BASE_URL: providerUrl('https://androidpublisher.googleapis.com'),
    GOOGLE_PLAY_TOKEN_URL: providerUrl('https://oauth2.googleapis.com/token'),
    GOOGLE_PLAY_CLIENT_EMAIL: secret,
    /** PEM of the service account's key; a line break may be written as `\n`. */
    GOOGLE_PLAY_PRIVATE_KEY: secret.transform((pem) => pem.replaceAll('\\n', '\n')),
    GOOGLE_PLAY_PACKAGE: packageName,
  },
  create: (config, { client, clock, realTime }) => {
    const applicationsUrl = `${config.GOOGLE_PLAY_BASE_URL}/androidpublisher/v3/applications`;
    const purchasesUrl = `${applicationsUrl}/${segment(config.GOOGLE_PLAY_PACKAGE)}/purchases`;
    const account = {
      tokenUrl: config.GOOGLE_PLAY_TOKEN_URL,
      clientEmail: config.GOOGLE_PLAY_CLIENT_EMAIL,
      privateKey: config.GOOGLE_PLAY_PRIVATE_KEY,
    };
    const tokens = createGoogleAccessTokens(account, { client, realTime, scope: SCOPE });
    const productUrl = ({ productId, purchaseToken }: StoreProduct): string =>
      `${purchasesUrl}/products/${segment(productId)}/tokens/${segment(purchaseToken)}`;

    /** A token may be revoked before it expires, so a refused one is replaced once. */
    const send = async (request: ProviderRequest): Promise<Exchange> => {
      for (let attempt = 1; ; attempt += 1) {
        const token = await tokens.get();
        if ('detail' in token) {
          const kind = token.refused ? 'credentials_refused' : 'unreachable';
          return { verdict: { kind, detail: token.detail } };
        }
        const headers = { authorization: `Bearer ${token.value}`, 'content-type': 'application/json' };
        const sent = await exchange(client, { ...request, headers }, isQuota);
        const refused = 'verdict' in sent && sent.verdict.kind === 'credentials_refused';
        if (!refused || attempt > 1) return sent;
        tokens.discard(token.value);
      }
    };

    /** Consuming a purchase acknowledges it, too, and may be repeated. */
    const acknowledge = (product: StoreProduct): Promise<AcknowledgeOutcome> =>
      toAcknowledgeOutcome(
        send({ method: 'POST', url: `${productUrl(product)}:consume`, body: '{}' }),
        // After any refusal, check whether the purchase is already consumed and needs nothing more.
        async (answer) =>
          isAccepted(answer) || isConsumed(await send({ method: 'GET', url: productUrl(product) })),
      );

    return {
      verify: (product) =>
        toVerdict(send({ method: 'GET', url: productUrl(product) }), (answer) =>
          readPurchase(product, answer),
        ),
      acknowledge,
      findRefunded: async (products) => {
        if (products.length === 0) return [];
        const earliest = Math.min(...products.map(({ redeemedAt }) => redeemedAt.getTime())) - DAY_MS;
        const oldest = clock.now().getTime() - VOIDED_WINDOW_MS;
        const { voided, isComplete } = await listVoided(
          send,
          purchasesUrl,
          new Date(Math.max(earliest, oldest)),
        );
        return products.map(({ purchaseToken }): RefundStatus => {
          if (voided.has(purchaseToken)) return 'refunded';
          return isComplete ? 'not_refunded' : 'unknown';
        });
      },
    };
  },
});
