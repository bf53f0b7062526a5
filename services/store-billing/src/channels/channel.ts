/**
 * An app store that settles purchases. A new one is a file beside this, a row in `index.ts` and an emulator in the
 * sandbox; the contract test then covers it.
 */
import type {
  ProviderClient,
  ProviderRequest,
  ProviderResponse,
} from '@fitness/shared/http/provider-client.ts';
import { z } from 'zod';
import type { Verdict } from '../domain/verdict.ts';

export interface StoreProduct {
  productId: string;
  purchaseToken: string;
}

interface RedeemedProduct extends StoreProduct {
  redeemedAt: Date;
}

/** `done`: the store knows that it is used, whoever told it. `failed`: to be told again. */
export type SettleOutcome = { outcome: 'done' } | { outcome: 'failed'; detail: string };

/** `unknown`: no answer could be had; it is asked again. */
export type Standing = 'standing' | 'refunded' | 'unknown';

export interface StoreChannel {
  /** As the client names it. */
  readonly name: string;
  /** Asks the store whether this product was bought with this token. Never throws. */
  verify(product: StoreProduct): Promise<Verdict>;
  /** Tells the store that the purchase is used: consumed or acknowledged. Repeating it does nothing. Never throws. */
  settle(product: StoreProduct): Promise<SettleOutcome>;
  /** Which of these redeemed purchases the store reports refunded, in their order. Never throws. */
  findRefunded(products: readonly RedeemedProduct[]): Promise<Standing[]>;
}

const TOO_MANY_REQUESTS = 429;

/** An answer, or what is known without one. */
export type Exchange = { answer: ProviderResponse } | { verdict: Verdict };

/** Sends, and sorts out what no store means as an answer about the purchase. */
export const exchange = async (client: ProviderClient, request: ProviderRequest): Promise<Exchange> => {
  let answer: ProviderResponse;
  try {
    answer = await client.send(request);
  } catch (error) {
    return { verdict: { kind: 'unreachable', detail: (error as Error).message } };
  }
  const { status } = answer;
  const detail = `HTTP ${status}`;
  if (status === TOO_MANY_REQUESTS) return { verdict: { kind: 'unreachable', detail } };
  if (status === 401 || status === 403) return { verdict: { kind: 'credentials_refused', detail } };
  return { answer };
};

/** The body as `schema` reads it; undefined for anything else. */
export const readBody = <Schema extends z.ZodType>(
  schema: Schema,
  { text }: ProviderResponse,
): z.output<Schema> | undefined => {
  try {
    return schema.safeParse(JSON.parse(text)).data;
  } catch {
    return undefined;
  }
};

export const isOk = ({ status }: ProviderResponse): boolean => status >= 200 && status < 300;

const unreadable = ({ status }: ProviderResponse): Verdict => ({
  kind: 'unreadable',
  detail: `HTTP ${status} with an unexpected body`,
});

/** Why nothing was achieved, for the log. */
const failed = (verdict: Verdict): SettleOutcome => ({
  outcome: 'failed',
  detail: 'detail' in verdict ? `${verdict.kind}: ${verdict.detail}` : verdict.kind,
});

/** Asks about a purchase. `read` sees answers that may be about it, and gives undefined for what is none. */
export const ask = async (
  sending: Promise<Exchange>,
  read: (answer: ProviderResponse) => Verdict | undefined,
): Promise<Verdict> => {
  const sent = await sending;
  return 'verdict' in sent ? sent.verdict : (read(sent.answer) ?? unreadable(sent.answer));
};

/** Tells the store that a purchase is used. `isDone` sees its answer and may ask further. */
export const tell = async (
  sending: Promise<Exchange>,
  isDone: (answer: ProviderResponse) => boolean | Promise<boolean>,
): Promise<SettleOutcome> => {
  const sent = await sending;
  if ('verdict' in sent) return failed(sent.verdict);
  return (await isDone(sent.answer)) ? { outcome: 'done' } : failed(unreadable(sent.answer));
};

/** A yes of the store itself: an HTML page with 200 is some proxy's. */
export const isAccepted = (answer: ProviderResponse): boolean =>
  isOk(answer) && (answer.text.trim() === '' || readBody(z.unknown(), answer) !== undefined);

/** For stores without a list of refunds: each purchase is asked about, a few at a time. */
export const lookAtEach =
  (verify: StoreChannel['verify']): StoreChannel['findRefunded'] =>
  async (products) => {
    const standings: Standing[] = [];
    for (let start = 0; start < products.length; start += AT_ONCE) {
      const verdicts = await Promise.all(products.slice(start, start + AT_ONCE).map(verify));
      standings.push(...verdicts.map(toStanding));
    }
    return standings;
  };

const AT_ONCE = 5;

/** Only the word of the store that it was refunded ends a grant: a purchase that it no longer finds stands. */
const toStanding = (verdict: Verdict): Standing => {
  switch (verdict.kind) {
    case 'purchased':
      return 'standing';
    case 'not_purchased':
      return verdict.reason === 'refunded' || verdict.reason === 'canceled' ? 'refunded' : 'standing';
    default:
      return 'unknown';
  }
};

export const segment = encodeURIComponent;
