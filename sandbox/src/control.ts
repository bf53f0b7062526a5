/** The control routes under `/_sandbox`, for tests, benchmarks and developers. */
import { formatTimestamp, SECOND_MS } from '@fitness/shared/kernel/clock.ts';
import type { FastifyInstance, FastifyReply } from 'fastify';
import { z } from 'zod';
import { durationMs } from './clock.ts';
import { allowPages } from './cors.ts';
import { callbackOf, settlePayment } from './providers/zibal.ts';
import {
  EMAIL_MODES,
  normalizeReceptor,
  PURCHASE_STATES,
  PURCHASE_TYPES,
  PUSH_MODES,
  type Purchase,
  SMS_MODES,
  ZIBAL_MODES,
} from './state.ts';
import type { Harness } from './wire.ts';

export const receptorSchema = z.string().transform((raw, context) => {
  const receptor = normalizeReceptor(raw);
  if (receptor === null) context.addIssue({ code: 'custom', message: 'must be a phone number' });
  return receptor ?? z.NEVER;
});

const smsQuery = z.object({ receptor: receptorSchema.optional() });
const smsModeBody = z.object({ mode: z.enum(SMS_MODES), receptor: receptorSchema.nullish() });
const pushQuery = z.object({ token: z.string().min(1).optional() });
const pushModeBody = z.object({
  mode: z.enum(PUSH_MODES),
  token: z.string().min(1).nullish(),
  retry_after: z.int().min(0).default(1),
});
const emailQuery = z.object({ to: z.string().min(1).toLowerCase().optional() });
const emailModeBody = z.object({ mode: z.enum(EMAIL_MODES), to: z.string().min(1).nullish() });
const templateBody = z.object({ text: z.string().min(1).max(900).includes('%token') });
const zibalModeBody = z.object({ mode: z.enum(ZIBAL_MODES) });

/** `amount`, in Rial: the amount that the gateway charges instead of the requested one. */
const zibalClickBody = z.object({ amount: z.int().positive().optional() }).default({});
const clockBody = z.object({
  advance: z.string().transform((text, context) => {
    const byMs = durationMs(text);
    if (byMs === undefined)
      context.addIssue({ code: 'custom', message: 'must be a duration of s, m, h or d, such as 14d' });
    return byMs ?? z.NEVER;
  }),
});
const reachedBody = z.object({ advanced_ms: z.int().min(0) });
const clockQuery = z.object({ after_ms: z.coerce.number().int().min(0).optional() });
/** Shorter than the timeout of the processes that wait. */
const CLOCK_WAIT_MS = 20 * SECOND_MS;

const callsQuery = z.object({ token: z.string().min(1) });
const purchaseBody = z.object({
  product_id: z.string().min(1).max(255),
  state: z.enum(PURCHASE_STATES),
  account_id: z.string().max(255).nullish(),
  purchase_type: z.enum(PURCHASE_TYPES).optional(),
  quantity: z.int().min(1).max(100).optional(),
});

/** The parsed input, or undefined after a 422 response. */
function checked<T>(reply: FastifyReply, schema: z.ZodType<T>, input: unknown): T | undefined {
  const parsed = schema.safeParse(input ?? {});
  if (parsed.success) return parsed.data;
  const errors: Record<string, string[]> = {};
  for (const issue of parsed.error.issues) {
    const field = issue.path.join('.') || 'body';
    errors[field] = [...(errors[field] ?? []), issue.message];
  }
  reply.code(422).send({ message: 'The given data was invalid.', errors });
  return undefined;
}

function purchaseResource(purchase: Purchase) {
  return {
    token: purchase.token,
    product_id: purchase.productId,
    state: purchase.state,
    account_id: purchase.accountId,
    purchase_type: purchase.purchaseType,
    quantity: purchase.quantity,
    consumed: purchase.consumed,
    acknowledged: purchase.acknowledged,
  };
}

function smsRoutes(app: FastifyInstance, harness: Harness): void {
  app.get('/sms', async (request, reply) => {
    const query = checked(reply, smsQuery, request.query);
    if (!query) return reply;
    const data = harness.state.listSms(query.receptor ?? null).map((sms) => ({
      receptor: sms.receptor,
      message: sms.message,
      code: sms.code,
      sent_at: formatTimestamp(sms.sentAt),
    }));
    return reply.send({ data });
  });

  app.put('/sms/mode', async (request, reply) => {
    const body = checked(reply, smsModeBody, request.body);
    if (!body) return reply;
    const receptor = body.receptor ?? null;
    harness.state.setSmsMode(body.mode, receptor);
    return reply.send({ data: { mode: body.mode, receptor } });
  });

  app.put<{ Params: { name: string } }>('/sms/templates/:name', async (request, reply) => {
    const body = checked(reply, templateBody, request.body);
    if (!body) return reply;
    const { name } = request.params;
    harness.state.smsTemplates.set(name, body.text);
    return reply.send({ data: { name, text: body.text } });
  });
}

/** Lists show the newest first. */
function pushRoutes(app: FastifyInstance, harness: Harness): void {
  app.get('/push', async (request, reply) => {
    const query = checked(reply, pushQuery, request.query);
    if (!query) return reply;
    const all = [...harness.state.pushes.values()].reverse();
    const shown = all.filter(({ token }) => query.token === undefined || token === query.token);
    const data = shown.map(({ id, sentAt, ...push }) => ({ ...push, sent_at: formatTimestamp(sentAt) }));
    return reply.send({ data });
  });

  app.put('/push/mode', async (request, reply) => {
    const body = checked(reply, pushModeBody, request.body);
    if (!body) return reply;
    const token = body.token ?? null;
    harness.state.setPushMode(body.mode, token);
    harness.state.pushRetryAfterS = body.retry_after;
    return reply.send({ data: { mode: body.mode, token, retry_after: body.retry_after } });
  });
}

/** Lists show the newest first. */
function emailRoutes(app: FastifyInstance, harness: Harness): void {
  app.get('/emails', async (request, reply) => {
    const query = checked(reply, emailQuery, request.query);
    if (!query) return reply;
    const all = [...harness.state.emails.values()].reverse();
    const shown = all.filter(({ to }) => query.to === undefined || to === query.to);
    const data = shown.map(({ id, sentAt, messageId, ...email }) => ({
      ...email,
      message_id: messageId,
      sent_at: formatTimestamp(sentAt),
    }));
    return reply.send({ data });
  });

  app.put('/emails/mode', async (request, reply) => {
    const body = checked(reply, emailModeBody, request.body);
    if (!body) return reply;
    const to = body.to ?? null;
    harness.state.setEmailMode(body.mode, to);
    return reply.send({ data: { mode: body.mode, to } });
  });
}

function storeRoutes(app: FastifyInstance, harness: Harness): void {
  app.put<{ Params: { token: string } }>('/store/purchases/:token', async (request, reply) => {
    const body = checked(reply, purchaseBody, request.body);
    if (!body) return reply;
    const { token } = request.params;
    const purchase = harness.state.putPurchase(token, body.product_id, body.state, {
      accountId: body.account_id ?? null,
      ...(body.purchase_type === undefined ? {} : { purchaseType: body.purchase_type }),
      ...(body.quantity === undefined ? {} : { quantity: body.quantity }),
    });
    return reply.send({ data: purchaseResource(purchase) });
  });

  app.get('/store/calls', async (request, reply) => {
    const query = checked(reply, callsQuery, request.query);
    return query ? reply.send({ count: harness.state.storeCalls(query.token) }) : reply;
  });
}

function zibalRoutes(app: FastifyInstance, harness: Harness): void {
  app.put('/zibal/mode', async (request, reply) => {
    const body = checked(reply, zibalModeBody, request.body);
    if (!body) return reply;
    harness.state.zibalMode = body.mode;
    return reply.send({ data: { mode: body.mode } });
  });

  for (const click of ['pay', 'cancel'] as const) {
    app.post<{ Params: { trackId: string } }>(`/zibal/:trackId/${click}`, async (request, reply) => {
      const payment = harness.state.payments.get(Number(request.params.trackId));
      if (!payment) return reply.code(404).send({ message: 'There is no payment with this track id.' });
      const body = checked(reply, zibalClickBody, request.body ?? undefined);
      if (!body) return reply;
      if (settlePayment(payment, click, harness.clock.now()) === 'closed') {
        return reply.code(409).send({ message: 'This payment was already paid or cancelled.' });
      }
      if (body.amount !== undefined) payment.amountRial = body.amount;
      return reply.redirect(callbackOf(payment), 302);
    });
  }
}

const tooFar = (reply: FastifyReply, field: string): FastifyReply => {
  const errors = { [field]: ['must not take the clock more than ten years ahead'] };
  return reply.code(422).send({ message: 'The given data was invalid.', errors });
};

/** Only for a product with demo data, whose processes follow this clock. */
function clockRoutes(app: FastifyInstance, { clock }: Harness): void {
  const resource = () => ({
    data: { now: formatTimestamp(clock.now()), advanced_ms: clock.advancedMs() },
  });
  app.get('/clock', async (request, reply) => {
    const query = checked(reply, clockQuery, request.query);
    if (!query) return reply;
    if (query.after_ms !== undefined) await clock.advanced(query.after_ms, CLOCK_WAIT_MS);
    return reply.send(resource());
  });
  app.put('/clock', async (request, reply) => {
    const body = checked(reply, clockBody, request.body);
    if (!body) return reply;
    if (await clock.advance(body.advance)) return reply.send(resource());
    return tooFar(reply, 'advance');
  });
  // Called by a process that is ahead of a sandbox that has lost its file. A GET must not do this: another site could send it.
  app.put('/clock/reached', async (request, reply) => {
    const body = checked(reply, reachedBody, request.body);
    if (!body) return reply;
    if (await clock.advanceTo(body.advanced_ms)) return reply.send(resource());
    return tooFar(reply, 'advanced_ms');
  });
}

export async function control(app: FastifyInstance, harness: Harness): Promise<void> {
  allowPages(app, harness.apiUrl);
  smsRoutes(app, harness);
  pushRoutes(app, harness);
  emailRoutes(app, harness);
  storeRoutes(app, harness);
  zibalRoutes(app, harness);
  if (harness.isFollowed) clockRoutes(app, harness);
  app.delete('/', async (_request, reply) => {
    harness.state.forget();
    return reply.send({ data: { forgotten: true } });
  });
}
