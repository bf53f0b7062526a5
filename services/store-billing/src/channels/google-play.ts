/**
 * Google Play's Android Publisher API, version 3, for one-time products. A service account's key signs for an access
 * token that serves for an hour; refunds come as a list.
 */
import { createSign } from 'node:crypto';
import { type Clock, DAY_MS, MINUTE_MS, SECOND_MS } from '@fitness/shared/clock.ts';
import type { ProviderClient, ProviderRequest } from '@fitness/shared/http/provider-client.ts';
import { z } from 'zod';
import type { Verdict } from '../domain/verdict.ts';
import {
  ask,
  type Exchange,
  exchange,
  isAccepted,
  isOk,
  readBody,
  type SettleOutcome,
  type Standing,
  type StoreChannel,
  type StoreProduct,
  segment,
  tell,
} from './channel.ts';

export interface GooglePlayOptions {
  client: ProviderClient;
  baseUrl: string;
  tokenUrl: string;
  clientEmail: string;
  /** PEM. */
  privateKey: string;
  packageName: string;
  clock: Clock;
}

const SCOPE = 'https://www.googleapis.com/auth/androidpublisher';
const GRANT_TYPE = 'urn:ietf:params:oauth:grant-type:jwt-bearer';
const ASSERTION_S = 3_600;
/** A token that ends sooner than this is not used any more. */
const TOKEN_MARGIN_MS = MINUTE_MS;
const MAX_VOIDED_PAGES = 100;
/** The list does not reach further back; our clock and Google's may differ a little. */
const VOIDED_WINDOW_MS = 30 * DAY_MS - MINUTE_MS;

const tokenSchema = z.object({ access_token: z.string().min(1), expires_in: z.number().positive() });
const errorSchema = z.object({ error: z.object({ code: z.int() }) });
/** 0 purchased, 1 cancelled, 2 pending. */
const purchaseSchema = z.object({
  purchaseState: z.union([z.literal(0), z.literal(1), z.literal(2)]),
  productId: z.string().optional(),
});
const VERDICTS = {
  0: { kind: 'purchased' },
  1: { kind: 'not_purchased', reason: 'canceled' },
  2: { kind: 'not_purchased', reason: 'pending' },
} as const satisfies Record<number, Verdict>;
const consumedSchema = z.object({ consumptionState: z.literal(1) });
const voidedSchema = z.object({
  voidedPurchases: z.array(z.object({ purchaseToken: z.string() })).default([]),
  tokenPagination: z.object({ nextPageToken: z.string().optional() }).optional(),
});

export const createGooglePlay = (options: GooglePlayOptions): StoreChannel => {
  const { client } = options;
  const purchases = `${options.baseUrl}/androidpublisher/v3/applications/${segment(options.packageName)}/purchases`;
  const tokens = createAccessTokens(options);
  const productUrl = ({ productId, purchaseToken }: StoreProduct): string =>
    `${purchases}/products/${segment(productId)}/tokens/${segment(purchaseToken)}`;

  /** A token may be revoked before its time, so a refused one is replaced once. */
  const send = async (request: ProviderRequest): Promise<Exchange> => {
    for (let attempt = 1; ; attempt += 1) {
      const token = await tokens.get();
      if ('verdict' in token) return token;
      const headers = { authorization: `Bearer ${token.value}`, 'content-type': 'application/json' };
      const sent = await exchange(client, { ...request, headers });
      const refused = 'verdict' in sent && sent.verdict.kind === 'credentials_refused';
      if (!refused || attempt > 1) return sent;
      tokens.forget(token.value);
    }
  };

  const verify = (product: StoreProduct): Promise<Verdict> =>
    ask(send({ method: 'GET', url: productUrl(product) }), (answer) => {
      const gone = answer.status === 404 || answer.status === 410;
      if (gone && readBody(errorSchema, answer) !== undefined)
        return { kind: 'not_purchased', reason: 'no_such_purchase' };
      const purchase = isOk(answer) ? readBody(purchaseSchema, answer) : undefined;
      if (purchase === undefined) return undefined;
      if (purchase.productId !== undefined && purchase.productId !== product.productId)
        return { kind: 'not_purchased', reason: 'other_product' };
      return VERDICTS[purchase.purchaseState];
    });

  /** Consuming acknowledges as well, and may be repeated. */
  const settle = (product: StoreProduct): Promise<SettleOutcome> =>
    tell(
      send({ method: 'POST', url: `${productUrl(product)}:consume`, body: '{}' }),
      // Whatever it dislikes: a purchase that is consumed already needs nothing more.
      async (answer) =>
        isAccepted(answer) || isConsumed(await send({ method: 'GET', url: productUrl(product) })),
    );

  /** `isWhole`: a purchase that is not in it is none. */
  const listVoided = async (from: Date): Promise<{ voided: Set<string>; isWhole: boolean }> => {
    const voided = new Set<string>();
    let next: string | undefined;
    for (let page = 0; page < MAX_VOIDED_PAGES; page += 1) {
      const query = new URLSearchParams({ startTime: String(from.getTime()), maxResults: '1000' });
      if (next !== undefined) query.set('token', next);
      const sent = await send({ method: 'GET', url: `${purchases}/voidedpurchases?${query.toString()}` });
      const list = 'answer' in sent && isOk(sent.answer) ? readBody(voidedSchema, sent.answer) : undefined;
      if (list === undefined) break;
      for (const { purchaseToken } of list.voidedPurchases) voided.add(purchaseToken);
      next = list.tokenPagination?.nextPageToken;
      if (next === undefined) return { voided, isWhole: true };
    }
    return { voided, isWhole: false };
  };

  return {
    name: 'google_play',
    verify,
    settle,
    findRefunded: async (products) => {
      if (products.length === 0) return [];
      const earliest = Math.min(...products.map(({ redeemedAt }) => redeemedAt.getTime())) - DAY_MS;
      const oldest = options.clock.now().getTime() - VOIDED_WINDOW_MS;
      const { voided, isWhole } = await listVoided(new Date(Math.max(earliest, oldest)));
      return products.map(({ purchaseToken }): Standing => {
        if (voided.has(purchaseToken)) return 'refunded';
        return isWhole ? 'standing' : 'unknown';
      });
    },
  };
};

const isConsumed = (sent: Exchange): boolean =>
  'answer' in sent && isOk(sent.answer) && readBody(consumedSchema, sent.answer) !== undefined;

interface AccessTokens {
  get(): Promise<{ value: string } | { verdict: Verdict }>;
  forget(value: string): void;
}

const createAccessTokens = (options: GooglePlayOptions): AccessTokens => {
  const { client, clock, tokenUrl } = options;
  let held: { value: string; until: number } | undefined;
  let asking: ReturnType<AccessTokens['get']> | undefined;

  const ask: AccessTokens['get'] = async () => {
    const assertion = signAssertion(options);
    if (assertion === undefined)
      return { verdict: { kind: 'credentials_refused', detail: 'the private key cannot sign' } };
    const sent = await exchange(client, {
      method: 'POST',
      url: tokenUrl,
      headers: { 'content-type': 'application/x-www-form-urlencoded' },
      body: new URLSearchParams({ grant_type: GRANT_TYPE, assertion }).toString(),
    });
    if ('verdict' in sent) return sent;
    const token = isOk(sent.answer) ? readBody(tokenSchema, sent.answer) : undefined;
    if (token === undefined) {
      const detail = `the token endpoint answered HTTP ${sent.answer.status}`;
      // A refused assertion is a 400; anything else that is no token says nothing about our key.
      const refused = sent.answer.status === 400;
      return { verdict: { kind: refused ? 'credentials_refused' : 'unreachable', detail } };
    }
    held = {
      value: token.access_token,
      until: clock.now().getTime() + token.expires_in * SECOND_MS - TOKEN_MARGIN_MS,
    };
    return { value: held.value };
  };

  return {
    get: async () => {
      if (held !== undefined && clock.now().getTime() < held.until) return { value: held.value };
      asking ??= ask().finally(() => {
        asking = undefined;
      });
      return asking;
    },
    forget: (value) => {
      if (held?.value === value) held = undefined;
    },
  };
};

/** RFC 7523: a JWT, signed with RS256 by the service account's key; undefined when that is no key. */
const signAssertion = (options: GooglePlayOptions): string | undefined => {
  const { clientEmail, privateKey, tokenUrl, clock } = options;
  const now = Math.floor(clock.now().getTime() / SECOND_MS);
  const claims = { iss: clientEmail, scope: SCOPE, aud: tokenUrl, iat: now, exp: now + ASSERTION_S };
  const encode = (value: unknown): string => Buffer.from(JSON.stringify(value)).toString('base64url');
  const signed = `${encode({ alg: 'RS256', typ: 'JWT' })}.${encode(claims)}`;
  try {
    return `${signed}.${createSign('RSA-SHA256').update(signed).sign(privateKey, 'base64url')}`;
  } catch {
    return undefined;
  }
};
