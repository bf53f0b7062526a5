/** An app store in which users pay. The README describes how to add one. */
import type {
  ProviderClient,
  ProviderRequest,
  ProviderResponse,
} from '@fitness/shared/http/provider-client.ts';
import type { Clock } from '@fitness/shared/kernel/clock.ts';
import { z } from 'zod';
import type { Verdict } from '../domain/verdict.ts';

export interface StoreProduct {
  productId: string;
  purchaseToken: string;
}

interface RedeemedProduct extends StoreProduct {
  redeemedAt: Date;
}

/** `done`: the store has marked the purchase as used. `failed`: to be retried. */
export type AcknowledgeOutcome = { outcome: 'done' } | { outcome: 'failed'; detail: string };

/** `unknown`: no response; to be retried. */
export type RefundStatus = 'refunded' | 'not_refunded' | 'unknown';

export interface StoreChannel {
  /** The name that clients send. */
  readonly name: string;
  /** Asks the store whether this product was bought with this token. Never throws. */
  verify(product: StoreProduct): Promise<Verdict>;
  /** Consumes or acknowledges the purchase at the store. Repeating it has no effect. Never throws. */
  acknowledge(product: StoreProduct): Promise<AcknowledgeOutcome>;
  /** Whether the store reports each of these redeemed purchases as refunded, in their order. Never throws. */
  findRefunded(products: readonly RedeemedProduct[]): Promise<RefundStatus[]>;
}

export interface ChannelDependencies {
  client: ProviderClient;
  clock: Clock;
  realTime: Clock;
}

interface ChannelDefinition<Name extends string, Variables extends Record<string, z.ZodType>> {
  /** A value of STORE_CHANNEL. */
  name: Name;
  /** Its environment variables. Those without a default are required only when this channel is chosen. */
  variables: Variables;
  create(
    config: z.output<z.ZodObject<Variables>>,
    dependencies: ChannelDependencies,
  ): Omit<StoreChannel, 'name'>;
}

export const defineChannel = <const Name extends string, Variables extends Record<string, z.ZodType>>(
  definition: ChannelDefinition<Name, Variables>,
): ChannelDefinition<Name, Variables> => definition;

/** At Myket and Google Play, 1 means consumed. */
const consumedSchema = z.object({ consumptionState: z.literal(1) });

const TOO_MANY_REQUESTS = 429;

/** A response about the purchase, or the verdict if there is none. */
export type Exchange = { answer: ProviderResponse } | { verdict: Verdict };

/**
 * Sends a request and handles the outcomes that mean the same at every store: no response, 401, 403 and 429.
 * `isTemporary` returns whether a 403 is temporary and not about our credentials.
 */
export const exchange = async (
  client: ProviderClient,
  request: ProviderRequest,
  isTemporary: (refusal: ProviderResponse) => boolean = () => false,
): Promise<Exchange> => {
  let answer: ProviderResponse;
  try {
    answer = await client.send(request);
  } catch (error) {
    return { verdict: { kind: 'unreachable', detail: (error as Error).message } };
  }
  const { status } = answer;
  const detail = `HTTP ${status}`;
  if (status === TOO_MANY_REQUESTS || (status === 403 && isTemporary(answer)))
    return { verdict: { kind: 'unreachable', detail } };
  if (status === 401 || status === 403) return { verdict: { kind: 'credentials_refused', detail } };
  return { answer };
};

/** Undefined for a body that is not JSON or does not match `schema`. */
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

/** Whether the returned purchase is consumed, for stores with {@link consumedSchema}. */
export const isConsumed = (sent: Exchange): boolean =>
  'answer' in sent && isOk(sent.answer) && readBody(consumedSchema, sent.answer) !== undefined;

const unreadable = ({ status }: ProviderResponse): Verdict => ({
  kind: 'unreadable',
  detail: `HTTP ${status} with an unexpected body`,
});

const failed = (verdict: Verdict): AcknowledgeOutcome => ({
  outcome: 'failed',
  detail: 'detail' in verdict ? `${verdict.kind}: ${verdict.detail}` : verdict.kind,
});

/** `read` returns undefined for a response that it does not understand. */
export const toVerdict = async (
  sending: Promise<Exchange>,
  read: (answer: ProviderResponse) => Verdict | undefined,
): Promise<Verdict> => {
  const sent = await sending;
  return 'verdict' in sent ? sent.verdict : (read(sent.answer) ?? unreadable(sent.answer));
};

/** `isDone` may send further requests. */
export const toAcknowledgeOutcome = async (
  sending: Promise<Exchange>,
  isDone: (answer: ProviderResponse) => boolean | Promise<boolean>,
): Promise<AcknowledgeOutcome> => {
  const sent = await sending;
  if ('verdict' in sent) return failed(sent.verdict);
  return (await isDone(sent.answer)) ? { outcome: 'done' } : failed(unreadable(sent.answer));
};

/** 2xx with JSON or an empty body: an HTML page with 200 comes from a proxy, not from the store. */
export const isAccepted = (answer: ProviderResponse): boolean =>
  isOk(answer) && (answer.text.trim() === '' || readBody(z.unknown(), answer) !== undefined);

const CONCURRENT_VERIFICATIONS = 5;

/** For stores without a list of refunds: verifies each purchase, a few at a time. */
export const findRefundedOneByOne =
  (verify: StoreChannel['verify']): StoreChannel['findRefunded'] =>
  async (products) => {
    const statuses: RefundStatus[] = [];
    for (let start = 0; start < products.length; start += CONCURRENT_VERIFICATIONS) {
      const verdicts = await Promise.all(products.slice(start, start + CONCURRENT_VERIFICATIONS).map(verify));
      statuses.push(...verdicts.map(toRefundStatus));
    }
    return statuses;
  };

/** A purchase that the store no longer finds is not refunded: only an explicit response ends a grant. */
const toRefundStatus = (verdict: Verdict): RefundStatus => {
  switch (verdict.kind) {
    case 'purchased':
      return 'not_refunded';
    case 'not_purchased':
      return verdict.reason === 'refunded' || verdict.reason === 'canceled' ? 'refunded' : 'not_refunded';
    default:
      return 'unknown';
  }
};

export const segment = encodeURIComponent;
