/** Kavenegar, the SMS provider: `/v1/{API-KEY}/{scope}/{method}.json`, form-encoded POST or GET. */
import formbody from '@fastify/formbody';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { normalizeReceptor, type Sms } from '../state.ts';
import {
  asRecord,
  asText,
  codeIn,
  endedByMode,
  type Harness,
  judgeCredential,
  type Provider,
} from '../wire.ts';
import messages from './kavenegar-messages.json' with { type: 'json' };

const MESSAGES: Readonly<Record<string, string>> = messages;

const DEFAULT_SENDER = '10004346';
/** Sender lines of the account. */
const SENDERS: readonly string[] = [DEFAULT_SENDER, '2000500666'];
const COST_RIAL = 600;
const MAX_RECEPTORS = 200;
const MAX_MESSAGE_LENGTH = 900;
const MAX_TOKEN_LENGTH = 100;

/** The number of the refusal is repeated as the HTTP status, as in the real service. */
function answer(reply: FastifyReply, status: number, entries: unknown[] | null = null): FastifyReply {
  const body = { return: { status, message: MESSAGES[status] ?? '' }, entries };
  return reply.code(status).send(body);
}

function parameters(request: FastifyRequest): Record<string, unknown> {
  return { ...asRecord(request.query), ...asRecord(request.body) };
}

function entry(sms: Sms, receptor: string, sender: string = DEFAULT_SENDER) {
  return {
    messageid: sms.id,
    message: sms.message,
    status: 5,
    statustext: 'ارسال به مخابرات',
    sender,
    receptor,
    date: Math.floor(sms.sentAt.getTime() / 1000),
    cost: COST_RIAL,
  };
}

/** 400 if a mandatory parameter is missing, 406 if one is empty, otherwise null. */
function missingParameter(params: Record<string, unknown>, names: string[]): 400 | 406 | null {
  if (names.some((name) => typeof params[name] !== 'string')) return 400;
  return names.some((name) => asText(params[name]).trim() === '') ? 406 : null;
}

/** True if the first mode of these numbers other than `ok` ended the exchange. */
async function failedByMode(
  harness: Harness,
  request: FastifyRequest,
  reply: FastifyReply,
  receptors: readonly string[],
): Promise<boolean> {
  const mode = receptors.map((each) => harness.state.smsModes.of(each)).find((each) => each !== 'ok');
  if (mode === 'refuse') answer(reply, 411);
  return mode === 'refuse' || endedByMode(harness, request, reply, mode);
}

async function lookup(harness: Harness, request: FastifyRequest, reply: FastifyReply) {
  const params = parameters(request);
  const missing = missingParameter(params, ['receptor', 'token', 'template']);
  if (missing) return answer(reply, missing);
  const receptor = normalizeReceptor(asText(params.receptor));
  if (receptor === null) return answer(reply, 411);
  const tokens = ['token', 'token2', 'token3'].map((name) => asText(params[name])).filter(Boolean);
  // token10 and token20 may hold spaces; the three plain ones may not.
  if (tokens.some((token) => token.length > MAX_TOKEN_LENGTH || /[\s_]/.test(token)))
    return answer(reply, 431);
  const template = harness.state.smsTemplates.get(asText(params.template));
  if (template === undefined) return answer(reply, 424);
  const message = fillTemplate(template, params);
  if (message === undefined) return answer(reply, 432);
  if (await failedByMode(harness, request, reply, [receptor])) return reply;
  const sms = harness.state.recordSms(receptor, message, asText(params.token));
  return answer(reply, 200, [entry(sms, asText(params.receptor))]);
}

/** Undefined if a token has no placeholder in the template, or a placeholder has no token. */
function fillTemplate(template: string, params: Record<string, unknown>): string | undefined {
  const names = ['token', 'token2', 'token3', 'token10', 'token20'].filter((name) => asText(params[name]));
  const places = new Set([...template.matchAll(/%(token\d*)/g)].map(([, name = '']) => name));
  if (names.some((name) => !places.has(name)) || places.size !== names.length) return undefined;
  return template.replace(/%(token\d*)/g, (_place, name: string) => asText(params[name]));
}

async function send(harness: Harness, request: FastifyRequest, reply: FastifyReply) {
  const params = parameters(request);
  const missing = missingParameter(params, ['receptor', 'message']);
  if (missing) return answer(reply, missing);
  const spellings = asText(params.receptor).split(',');
  const receptors = spellings.map(normalizeReceptor).filter((each) => each !== null);
  if (receptors.length < spellings.length) return answer(reply, 411);
  if (receptors.length > MAX_RECEPTORS) return answer(reply, 414);
  const sender = asText(params.sender) || DEFAULT_SENDER;
  if (!SENDERS.includes(sender)) return answer(reply, 412);
  const message = asText(params.message);
  if (message.length > MAX_MESSAGE_LENGTH) return answer(reply, 413);
  if (await failedByMode(harness, request, reply, receptors)) return reply;
  const localId = asText(params.localid);
  const earlier = localId ? harness.state.smsByLocalId.get(localId) : undefined;
  const sent = earlier ?? receptors.map((each) => harness.state.recordSms(each, message, codeIn(message)));
  if (localId) harness.state.smsByLocalId.set(localId, sent);
  return answer(
    reply,
    200,
    sent.map((sms, index) => entry(sms, spellings[index] ?? sms.receptor, sender)),
  );
}

async function status(harness: Harness, request: FastifyRequest, reply: FastifyReply) {
  const params = parameters(request);
  const missing = missingParameter(params, ['messageid']);
  if (missing) return answer(reply, missing);
  const entries = asText(params.messageid)
    .split(',')
    .map((id) =>
      harness.state.sms.has(Number(id))
        ? { messageid: Number(id), status: 10, statustext: 'رسیده به گیرنده' }
        : { messageid: Number(id), status: 100, statustext: 'شناسه پیامک نامعتبر است' },
    );
  return answer(reply, 200, entries);
}

type Method = (harness: Harness, request: FastifyRequest, reply: FastifyReply) => Promise<FastifyReply>;

const METHODS: Record<string, Method> = {
  'verify/lookup.json': lookup,
  'sms/send.json': send,
  'sms/status.json': status,
};

async function mount(app: FastifyInstance, harness: Harness): Promise<void> {
  await app.register(formbody);
  // The real service ignores parameters in JSON. Dropping them here reveals the mistake early.
  app.removeContentTypeParser('application/json');
  app.route<{ Params: { key: string; '*': string } }>({
    method: ['GET', 'POST'],
    url: '/v1/:key/*',
    handler: async (request, reply) => {
      const method = METHODS[request.params['*']];
      if (!method) return answer(reply, 404);
      if (judgeCredential(request.params.key) !== 'good') return answer(reply, 403);
      return method(harness, request, reply);
    },
  });
}

export const kavenegar: Provider = {
  prefix: '/kavenegar',
  originalHosts: ['api.kavenegar.com'],
  environment: (base) => ({
    KAVENEGAR_BASE_URL: base,
    KAVENEGAR_API_KEY: 'sandbox',
  }),
  mount,
};
