/** Zibal, the payment gateway: JSON over POST; results are HTTP 200 with a numeric `result`. */
import type { ProviderClient } from '@fitness/shared/http/provider-client.ts';
import { z } from 'zod';
import { type GatewayAnswer, readPaidAt } from '../domain/deposit.ts';
import type { GatewayReceipt } from '../domain/payment.ts';

interface PaymentOrder {
  /** Amount charged to the payer. */
  amountRial: number;
  /** Our id of the payment; the gateway returns it in the callback and in the verification. */
  orderId: string;
}

export interface PaymentGateway {
  /**
   * Opens a payment. Not idempotent. `refused`: the gateway opened none. `above_ceiling`: because the amount is more than it accepts.
   */
  request(
    order: PaymentOrder,
  ): Promise<{ trackId: string; paymentUrl: string } | 'above_ceiling' | 'refused'>;
  /** Verifies and settles the payment; safe to repeat. */
  verify(trackId: string): Promise<GatewayAnswer>;
  /** Like `verify`, but settles nothing: `paid` only if the payment was verified before. */
  inquire(trackId: string): Promise<GatewayAnswer>;
}

/** An unusable response: our credentials are rejected, or the format is unknown. */
class GatewayRefusal extends Error {
  override name = 'GatewayRefusal';
}

const RESULT = { ok: 100, aboveCeiling: 113, alreadyVerified: 201, unpaid: 202, unknownTrack: 203 } as const;
const STATUS_VERIFIED = 1;

const whole = z.union([z.int(), z.string().regex(/^-?\d{1,15}$/)]).transform(Number);
const text = z.union([z.string(), z.number()]).transform(String);

const answerSchema = z.object({ result: whole });
/** At most 15 digits: callbacks and requests carry the track id as a number. */
const orderSchema = z.object({ trackId: text.pipe(z.string().regex(/^[1-9]\d{0,14}$/)) });
const detailsSchema = z.object({
  amount: whole.nullish(),
  orderId: text.nullish(),
  refNumber: text.nullish(),
  cardNumber: text.nullish(),
  paidAt: z.string().nullish().catch(null),
  status: whole.nullish(),
});

type Details = z.output<typeof detailsSchema>;

export interface ZibalOptions {
  baseUrl: string;
  merchant: string;
  callbackUrl: string;
  http: ProviderClient;
}

/** Its methods reject with ProviderFailure without a response, and with {@link GatewayRefusal} for an unusable one. */
export const createZibal = ({ baseUrl, merchant, callbackUrl, http }: ZibalOptions): PaymentGateway => {
  const post = async (
    call: 'request' | 'verify' | 'inquiry',
    fields: Record<string, unknown>,
  ): Promise<{ result: number; body: unknown }> => {
    const response = await http.send({
      method: 'POST',
      url: `${baseUrl}/v1/${call}`,
      headers: { 'content-type': 'application/json', accept: 'application/json' },
      body: JSON.stringify({ merchant, ...fields }),
    });
    if (response.status !== 200) throw new GatewayRefusal(`${call}: status ${response.status}`);
    const body = parseJson(response.text);
    const answer = answerSchema.safeParse(body);
    if (!answer.success) throw new GatewayRefusal(`${call}: not an answer of the gateway`);
    return { result: answer.data.result, body };
  };
  const detailsOf = (call: string, body: unknown): Details => {
    const details = detailsSchema.safeParse(body);
    if (!details.success) throw new GatewayRefusal(`${call}: unreadable details`);
    return details.data;
  };
  const inquire = async (trackId: string): Promise<GatewayAnswer> => {
    const { result, body } = await post('inquiry', { trackId: Number(trackId) });
    if (result === RESULT.unknownTrack) return { kind: 'unknown_track' };
    if (result !== RESULT.ok) throw new GatewayRefusal(`inquiry: result ${result}`);
    const details = detailsOf('inquiry', body);
    if (details.status === STATUS_VERIFIED) return { kind: 'paid', receipt: toReceipt(details) };
    return { kind: 'unpaid', status: details.status ?? null };
  };
  return {
    request: async ({ amountRial, orderId }) => {
      const { result, body } = await post('request', { amount: amountRial, callbackUrl, orderId });
      if (result === RESULT.aboveCeiling) return 'above_ceiling';
      if (result !== RESULT.ok) return 'refused';
      const order = orderSchema.safeParse(body);
      if (!order.success) throw new GatewayRefusal('request: no track id');
      const { trackId } = order.data;
      return { trackId, paymentUrl: `${baseUrl}/start/${trackId}` };
    },
    inquire,
    verify: async (trackId) => {
      const { result, body } = await post('verify', { trackId: Number(trackId) });
      switch (result) {
        case RESULT.ok: {
          const receipt = toReceipt(detailsOf('verify', body));
          const complete = receipt.amountRial !== null && receipt.orderId !== null;
          return complete ? { kind: 'paid', receipt } : inquire(trackId);
        }
        // This result may come without details.
        case RESULT.alreadyVerified:
          return inquire(trackId);
        case RESULT.unpaid: {
          const { status } = detailsOf('verify', body);
          return status === undefined || status === null ? inquire(trackId) : { kind: 'unpaid', status };
        }
        case RESULT.unknownTrack:
          return { kind: 'unknown_track' };
        default:
          throw new GatewayRefusal(`verify: result ${result}`);
      }
    },
  };
};

const toReceipt = (details: Details): GatewayReceipt => ({
  amountRial: details.amount ?? null,
  orderId: details.orderId ?? null,
  // Empty strings mean absent.
  refNumber: details.refNumber || null,
  cardNumber: details.cardNumber || null,
  paidAt: readPaidAt(details.paidAt),
});

const parseJson = (source: string): unknown => {
  try {
    return JSON.parse(source);
  } catch {
    return undefined;
  }
};
