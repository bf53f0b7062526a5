/** `/docs`: the reference of the API, the errors and the events, from files of this process and without other origins. */
import { gzipSync } from 'node:zlib';
import { API_PREFIX } from '@fitness/shared/http/server.ts';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { asyncApiDocument } from '../api/asyncapi.ts';
import { errorsPage } from './errors-page.ts';
import { eventsPage } from './events-page.ts';
import { PAGE_STYLE } from './page.ts';
import {
  type DemoAccount,
  initialiseScript,
  REFERENCE_STYLE,
  readScalar,
  referencePage,
} from './reference.ts';

export const OPENAPI_PATH = `${API_PREFIX}/openapi.json`;
const EVENTS_DOCUMENT_PATH = '/docs/events/asyncapi.json';

const HTML = 'text/html; charset=utf-8';
const SCRIPT = 'text/javascript; charset=utf-8';
const STYLE = 'text/css; charset=utf-8';

/** `extra`: what a page needs besides files of this origin. */
const policy = (extra: readonly string[] = []): string =>
  [
    "default-src 'none'",
    "script-src 'self'",
    "img-src 'self' data:",
    "connect-src 'self'",
    "base-uri 'none'",
    "form-action 'none'",
    "frame-ancestors 'none'",
    ...(extra.length === 0 ? ["style-src 'self'"] : extra),
  ].join('; ');

/**
 * The reference sets `style` attributes while it runs, which a policy can only allow altogether. Its style elements need the
 * nonce of the page, so that text of the document cannot bring in one.
 */
const referencePolicy = (nonce: string): string =>
  policy([`style-src 'self' 'nonce-${nonce}'`, "style-src-attr 'unsafe-inline'", "font-src 'self' data:"]);

interface DocsOptions {
  /** Shown with their password; none without the demo data. */
  demoAccounts: readonly DemoAccount[];
  /** Of each answer of the reference. */
  nonce: () => string;
}

export const addDocs = (app: FastifyInstance, { demoAccounts, nonce }: DocsOptions): void => {
  const send = (reply: FastifyReply, type: string, content: string | Buffer, csp = policy()): FastifyReply =>
    reply.header('content-security-policy', csp).type(type).serializer(String).send(content);
  const add = (path: string, type: string, content: string): void => {
    app.get(path, async (_request, reply) =>
      send(reply.header('cache-control', 'public, max-age=3600'), type, content),
    );
  };
  app.get('/docs', async (_request, reply) => {
    const once = nonce();
    return send(reply, HTML, referencePage(once), referencePolicy(once));
  });
  add('/docs/reference.js', SCRIPT, initialiseScript({ documentUrl: OPENAPI_PATH, demoAccounts }));
  add('/docs/reference.css', STYLE, REFERENCE_STYLE);
  app.get('/docs/scalar.js', createSendScalar());
  add('/docs/page.css', STYLE, PAGE_STYLE);
  add('/docs/errors', HTML, errorsPage());
  add('/docs/events', HTML, eventsPage(asyncApiDocument()));
  app.get(EVENTS_DOCUMENT_PATH, async () => asyncApiDocument());
};

/** It has four megabytes, and is read and compressed at the first request. */
const createSendScalar = () => {
  let reading: Promise<{ plain: Buffer; gzip: Buffer }> | undefined;
  const read = async () => {
    const plain = Buffer.from(await readScalar());
    return { plain, gzip: gzipSync(plain) };
  };
  return async (request: FastifyRequest, reply: FastifyReply): Promise<FastifyReply> => {
    reading ??= read();
    const { plain, gzip } = await reading;
    const isGzip = /\bgzip\b/.test(String(request.headers['accept-encoding']));
    if (isGzip) reply.header('content-encoding', 'gzip');
    return reply
      .headers({ 'cache-control': 'public, max-age=3600', vary: 'accept-encoding' })
      .type(SCRIPT)
      .send(isGzip ? gzip : plain);
  };
};
