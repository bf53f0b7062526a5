/** Zibal, the payment gateway: three JSON calls, and a page where the payer pays or cancels. */
import type { FastifyInstance, FastifyReply } from 'fastify';
import { z } from 'zod';
import { renderPayment } from '../pages/payment.ts';
import { sendPage } from '../pages/send.ts';
import { localeOf } from '../pages/texts.ts';
import type { Payment } from '../state.ts';
import { asRecord, dropConnection, type Harness, judgeCredential, type Provider } from '../wire.ts';
import messages from './zibal-messages.json' with { type: 'json' };

const MESSAGES: Readonly<Record<string, string>> = messages;

const AMOUNT_ABOVE_RIAL = 1_000;
/**
 * Limit of a card network transaction. Published clients refuse 2,000,000,000 Rial themselves. The simulating merchant accepts
 * more, to test a product with larger deposits.
 */
const AMOUNT_CEILING_RIAL = 2_000_000_000;
const SIMULATING_MERCHANT = 'zibal';
const SIMULATED_CEILING_RIAL = 10_000_000_000;
/** Fee of the card network for each payment. */
const SHAPARAK_FEE_RIAL = 1_200;
const CARD_NUMBER = '62741****44';

const amountSchema = z.int();
const callbackSchema = z.url({ protocol: /^https?$/ });
const trackIdSchema = z.union([z.int(), z.string().regex(/^\d{1,15}$/)]).transform(Number);

/** Business errors have HTTP status 200, as in the real gateway. */
function answer(reply: FastifyReply, result: number, fields: Record<string, unknown> = {}): FastifyReply {
  return reply.send({ ...fields, result, message: MESSAGES[result] ?? '' });
}

/** ISO 8601 with microseconds and without a time zone, as the real gateway sends it. */
function zibalTime(date: Date | null): string | null {
  return date?.toISOString().replace('Z', '000') ?? null;
}

function details(payment: Payment): Record<string, unknown> {
  const paid = payment.paidAt !== null;
  return {
    paidAt: zibalTime(payment.paidAt),
    cardNumber: paid ? CARD_NUMBER : null,
    status: payment.status,
    amount: payment.amountRial,
    refNumber: paid ? payment.trackId % 1_000_000_000 : null,
    description: payment.description,
    orderId: payment.orderId,
  };
}

function refusal(body: Record<string, unknown>): 102 | 105 | 106 | 113 | null {
  if (judgeCredential(body.merchant) !== 'good') return 102;
  const amount = amountSchema.safeParse(body.amount);
  if (!amount.success || amount.data <= AMOUNT_ABOVE_RIAL) return 105;
  const ceiling = body.merchant === SIMULATING_MERCHANT ? SIMULATED_CEILING_RIAL : AMOUNT_CEILING_RIAL;
  if (amount.data >= ceiling) return 113;
  return callbackSchema.safeParse(body.callbackUrl).success ? null : 106;
}

/** The gateway accepts an order id as a string or a number. */
function optionalText(value: unknown): string | null {
  return typeof value === 'string' || typeof value === 'number' ? String(value) : null;
}

function openPayment(harness: Harness, body: Record<string, unknown>): Payment {
  const payment: Payment = {
    trackId: harness.state.nextId(),
    merchant: String(body.merchant),
    amountRial: Number(body.amount),
    callbackUrl: String(body.callbackUrl),
    description: optionalText(body.description),
    orderId: optionalText(body.orderId),
    status: -1,
    createdAt: harness.clock.now(),
    paidAt: null,
    verifiedAt: null,
  };
  harness.state.payments.set(payment.trackId, payment);
  return payment;
}

/**
 * The payment of a verify or inquiry call, or the result code that refuses the call. Another merchant's payment
 * is treated as unknown (203).
 */
function ownPayment(harness: Harness, body: Record<string, unknown>): Payment | 102 | 203 {
  if (judgeCredential(body.merchant) !== 'good') return 102;
  const trackId = trackIdSchema.safeParse(body.trackId);
  const payment = trackId.success ? harness.state.payments.get(trackId.data) : undefined;
  return payment && payment.merchant === body.merchant ? payment : 203;
}

/** Where the payer's browser is sent after the click. */
export function callbackOf(payment: Payment): string {
  const paid = payment.paidAt !== null;
  const url = new URL(payment.callbackUrl);
  url.searchParams.append('trackId', String(payment.trackId));
  url.searchParams.append('success', paid ? '1' : '0');
  url.searchParams.append('status', paid ? '2' : '3');
  if (payment.orderId !== null) url.searchParams.append('orderId', payment.orderId);
  return url.toString();
}

/**
 * The payer's click. Repeating the same click is harmless and leads to the same callback. The other click is too late and
 * returns `closed`.
 */
export function settlePayment(payment: Payment, click: 'pay' | 'cancel', now: Date): 'done' | 'closed' {
  if (payment.status === -1) {
    payment.status = click === 'pay' ? 2 : 3;
    payment.paidAt = click === 'pay' ? now : null;
    return 'done';
  }
  return (payment.status === 3) === (click === 'cancel') ? 'done' : 'closed';
}

async function mount(app: FastifyInstance, harness: Harness): Promise<void> {
  app.addHook('onRequest', async (request, reply) => {
    if (harness.state.zibalModes.general === 'unreachable') dropConnection(request, reply);
  });

  app.post('/v1/request', async (request, reply) => {
    const body = asRecord(request.body);
    const refused = refusal(body);
    if (refused) return answer(reply, refused);
    return answer(reply, 100, { trackId: openPayment(harness, body).trackId });
  });

  app.post('/v1/verify', async (request, reply) => {
    const payment = ownPayment(harness, asRecord(request.body));
    if (typeof payment === 'number') return answer(reply, payment);
    // The fields are omitted on purpose: a client that needs the amount must send an inquiry.
    if (payment.status === 1) return answer(reply, 201);
    if (payment.status !== 2) return answer(reply, 202, { status: payment.status });
    payment.status = 1;
    payment.verifiedAt = harness.clock.now();
    return answer(reply, 100, details(payment));
  });

  app.post('/v1/inquiry', async (request, reply) => {
    const payment = ownPayment(harness, asRecord(request.body));
    if (typeof payment === 'number') return answer(reply, payment);
    return answer(reply, 100, {
      ...details(payment),
      createdAt: zibalTime(payment.createdAt),
      verifiedAt: zibalTime(payment.verifiedAt),
      wage: 0,
      shaparakFee: SHAPARAK_FEE_RIAL,
    });
  });

  app.get<{ Params: { trackId: string } }>('/start/:trackId', async (request, reply) => {
    const payment = harness.state.payments.get(Number(request.params.trackId));
    const callback = payment ? callbackOf(payment) : undefined;
    return sendPage(reply, renderPayment(localeOf(request), payment, callback));
  });
}

export const zibal: Provider = {
  prefix: '/zibal',
  originalHosts: ['gateway.zibal.ir'],
  environment: (base) => ({
    ZIBAL_BASE_URL: base,
    ZIBAL_MERCHANT: 'zibal',
  }),
  mount,
};
