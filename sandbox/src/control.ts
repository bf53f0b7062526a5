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

const refusedFields = (reply: FastifyReply, errors: Readonly<Record<string, string[]>>): FastifyReply =>
  reply.code(422).send({ message: 'The given data was invalid.', errors });

type Params = Readonly<Record<string, string>>;
type Handler<Input> = (input: Input, params: Params, reply: FastifyReply) => unknown;

/** Sends what `handle` returns. It gets the query of a GET or the body, or the response is 422. */
function route<Input>(
  app: FastifyInstance,
  [method, url]: ['GET' | 'PUT' | 'POST', string],
  schema: z.ZodType<Input>,
  handle: Handler<Input>,
): void {
  app.route<{ Params: Params }>({
    method,
    url,
    handler: async ({ query, body, params }, reply) => {
      const parsed = schema.safeParse((method === 'GET' ? query : body) ?? {});
      if (parsed.success) return handle(parsed.data, params, reply);
      const fields = Map.groupBy(parsed.error.issues, ({ path }) => path.join('.') || 'body');
      const errors = [...fields].map(([field, issues]) => [field, issues.map(({ message }) => message)]);
      return refusedFields(reply, Object.fromEntries(errors));
    },
  });
}

/** The messages whose `field` is this recipient, or all without one; the newest is first. */
const listed = <Message extends { id: number; sentAt: Date }>(
  messages: ReadonlyMap<number, Message>,
  field: keyof Message,
  recipient: string | undefined,
) => ({
  data: [...messages.values()]
    .filter((message) => recipient === undefined || message[field] === recipient)
    .reverse()
    .map(({ id, sentAt, ...message }) => ({ ...message, sent_at: formatTimestamp(sentAt) })),
});

function messageRoutes(app: FastifyInstance, { state }: Harness): void {
  route(app, ['GET', '/sms'], smsQuery, ({ receptor }) => listed(state.sms, 'receptor', receptor));
  route(app, ['PUT', '/sms/mode'], smsModeBody, ({ mode, receptor = null }) => {
    state.smsModes.choose(mode, receptor);
    return { data: { mode, receptor } };
  });
  route(app, ['PUT', '/sms/templates/:name'], templateBody, ({ text }, { name = '' }) => {
    state.smsTemplates.set(name, text);
    return { data: { name, text } };
  });

  route(app, ['GET', '/push'], pushQuery, ({ token }) => listed(state.pushes, 'token', token));
  route(app, ['PUT', '/push/mode'], pushModeBody, ({ mode, token = null, retry_after }) => {
    state.pushModes.choose(mode, token);
    state.pushRetryAfterS = retry_after;
    return { data: { mode, token, retry_after } };
  });

  route(app, ['GET', '/emails'], emailQuery, ({ to }) => listed(state.emails, 'to', to));
  route(app, ['PUT', '/emails/mode'], emailModeBody, ({ mode, to = null }) => {
    state.emailModes.choose(mode, to?.toLowerCase() ?? null);
    return { data: { mode, to } };
  });
}

function storeRoutes(app: FastifyInstance, { state }: Harness): void {
  route(app, ['PUT', '/store/purchases/:token'], purchaseBody, (body, { token = '' }) => {
    const purchase = state.putPurchase(token, body.product_id, body.state, {
      accountId: body.account_id,
      purchaseType: body.purchase_type,
      quantity: body.quantity,
    });
    const { id, productId, accountId, purchaseType, purchasedAt, voidedAt, ...shown } = purchase;
    const names = { product_id: productId, account_id: accountId, purchase_type: purchaseType };
    return { data: { ...shown, ...names } };
  });
  route(app, ['GET', '/store/calls'], callsQuery, ({ token }) => ({
    count: state.storeCalls.get(token) ?? 0,
  }));
}

function zibalRoutes(app: FastifyInstance, { state, clock }: Harness): void {
  route(app, ['PUT', '/zibal/mode'], zibalModeBody, ({ mode }) => {
    state.zibalModes.choose(mode, null);
    return { data: { mode } };
  });
  for (const click of ['pay', 'cancel'] as const)
    route(app, ['POST', `/zibal/:trackId/${click}`], zibalClickBody, ({ amount }, { trackId }, reply) => {
      const payment = state.payments.get(Number(trackId));
      if (!payment) return reply.code(404).send({ message: 'There is no payment with this track id.' });
      if (settlePayment(payment, click, clock.now()) === 'closed')
        return reply.code(409).send({ message: 'This payment was already paid or cancelled.' });
      if (amount !== undefined) payment.amountRial = amount;
      return reply.redirect(callbackOf(payment), 302);
    });
}

/** Only for a product with demo data, whose processes follow this clock. */
function clockRoutes(app: FastifyInstance, { clock }: Harness): void {
  const resource = () => ({ data: { now: formatTimestamp(clock.now()), advanced_ms: clock.advancedMs() } });
  const advanced = (isPossible: boolean, reply: FastifyReply, field: string) =>
    isPossible
      ? resource()
      : refusedFields(reply, { [field]: ['must not take the clock more than ten years ahead'] });

  route(app, ['GET', '/clock'], clockQuery, async ({ after_ms }) => {
    if (after_ms !== undefined) await clock.advanced(after_ms, CLOCK_WAIT_MS);
    return resource();
  });
  route(app, ['PUT', '/clock'], clockBody, async ({ advance }, _params, reply) =>
    advanced(await clock.advance(advance), reply, 'advance'),
  );
  // Called by a process that is ahead of a sandbox that has lost its file. A GET must not do this: another site could send it.
  route(app, ['PUT', '/clock/reached'], reachedBody, async ({ advanced_ms }, _params, reply) =>
    advanced(await clock.advanceTo(advanced_ms), reply, 'advanced_ms'),
  );
}

export async function control(app: FastifyInstance, harness: Harness): Promise<void> {
  allowPages(app, harness.apiUrl);
  messageRoutes(app, harness);
  storeRoutes(app, harness);
  zibalRoutes(app, harness);
  if (harness.isFollowed) clockRoutes(app, harness);
  app.delete('/', async () => {
    harness.state.forget();
    return { data: { forgotten: true } };
  });
}
