/** Parses the inputs of a request, calls its route and sends the reply. */
import type { FastifyReply, FastifyRequest } from 'fastify';
import type { z } from 'zod';
import { notFound } from '../kernel/error.ts';
import { negotiateLocale } from '../kernel/i18n/negotiate.ts';
import { translator } from '../kernel/i18n/translate.ts';
import { assertMaySend, clientAddressOf } from './admission.ts';
import { addEtag, cacheControlOf, etagOf, isRead } from './caching.ts';
import { codingOf, etagIn, sendIn } from './compression.ts';
import type { Route, RouteReply } from './define-route.ts';
import { idempotencyKeySchema, parseInputs, validFields, withoutEmpty } from './validation.ts';

export const handle = async (
  route: Route,
  request: FastifyRequest,
  reply: FastifyReply,
): Promise<FastifyReply> => {
  const locale = negotiateLocale(request.headers['accept-language']);
  reply.header('content-language', locale);
  if (route.fieldPermissions !== undefined || route.pageFields !== undefined) assertMaySend(route, request);
  const params = route.params?.safeParse(request.params);
  if (params?.success === false) throw notFound();
  const sent = request.body === undefined ? {} : request.body;
  const checked = { caller: request.caller, params: params?.data };
  const problems = await route.checkBody?.(
    validFields(route.body as z.ZodObject, sent) as never,
    checked as never,
  );
  const [query, body, idempotencyKey] = parseInputs(
    [
      { schema: route.query, value: withoutEmpty(request.query as object), root: 'query' },
      { schema: route.rawBody === true ? undefined : route.body, value: sent, root: 'body' },
      {
        schema: route.idempotent === true ? idempotencyKeySchema.optional() : undefined,
        value: request.headers['idempotency-key'],
        root: 'idempotency_key',
      },
    ],
    problems,
  );
  const input = {
    ...checked,
    query,
    body,
    locale,
    t: translator(locale),
    url: request.url,
    idempotencyKey,
    get clientAddress() {
      return clientAddressOf(request);
    },
    request,
    reply,
  };
  const result = await route.handle(input as never);
  return result === undefined ? reply : sendReply(route, result, request, reply);
};

const JSON_TYPE = 'application/json; charset=utf-8';

const sendReply = (
  route: Route,
  result: RouteReply,
  request: FastifyRequest,
  reply: FastifyReply,
): FastifyReply | Promise<FastifyReply> => {
  const schema = route.responses[result.status];
  if (schema === undefined)
    throw new Error(`${route.method} ${route.path} does not declare ${result.status}`);
  reply.code(result.status);
  if (result.headers !== undefined) reply.headers(result.headers);
  if (schema === null) return reply.send();
  // Fields that the schema does not declare are removed.
  // Encoded once: for the hash, the length and the connection.
  const text = Buffer.from(JSON.stringify(schema.parse(result.body)));
  if (result.status !== 200 || !isRead(route)) return reply.type(JSON_TYPE).send(text);
  const coding = codingOf(request.headers['accept-encoding'] as string | undefined, text.length);
  const etag = etagIn(coding, etagOf(text));
  const isKnown = addEtag(cacheControlOf(route, request.caller), etag, request, reply);
  return isKnown ? reply.code(304).send() : sendIn(coding, text, reply.type(JSON_TYPE));
};
