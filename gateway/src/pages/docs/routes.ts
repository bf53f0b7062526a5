/** `/docs`: the API reference, the errors, the events, the guides and their search, in English. Every file is served from this origin. */
import { readFileSync } from 'node:fs';
import { codingOf, encodedOnce } from '@fitness/shared/http/compression.ts';
import { API_PREFIX } from '@fitness/shared/http/gateway-protocol.ts';
import type { Page } from '@fitness/shared/pages/page.ts';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { asyncApiDocument } from '../../api/asyncapi.ts';
import { errorsPage } from './errors-page.ts';
import { EVENTS_DOCUMENT_PATH, eventsPage } from './events-page.ts';
import { type DocsPage, linksTo, renderDocs, SEARCH_PATH } from './page.ts';
import { type DemoAccount, initializeScript, NONCE_SCRIPT, readScalar, referencePage } from './reference.ts';
import { createSearch } from './search-page.ts';
import { textPages } from './text-pages.ts';

export const OPENAPI_PATH = `${API_PREFIX}/openapi.json`;

const HTML = 'text/html; charset=utf-8';
const SCRIPT = 'text/javascript; charset=utf-8';
const STYLE = 'text/css; charset=utf-8';

/** Every style element needs the nonce, so text of the document cannot add styles. */
const referencePolicy = (nonce: string): string =>
  [
    "default-src 'none'",
    "script-src 'self'",
    `style-src 'self' 'nonce-${nonce}'`,
    // The reference sets `style` attributes at runtime, and a policy can only allow all of them.
    "style-src-attr 'unsafe-inline'",
    "font-src 'self' data:",
    "img-src 'self' data:",
    "connect-src 'self'",
    "base-uri 'none'",
    "form-action 'none'",
    "frame-ancestors 'none'",
  ].join('; ');

interface DocsOptions {
  /** Shown with their passwords. Empty without the demo data. */
  demoAccounts: readonly DemoAccount[];
  /** Creates a new nonce for each response of the reference. */
  nonce: () => string;
}

export const addDocs = (app: FastifyInstance, { demoAccounts, nonce }: DocsOptions): void => {
  const events = asyncApiDocument();
  const texts = textPages();
  const others = [errorsPage(), eventsPage(events)];
  addPages(app, [...others, ...texts]);
  const guides = { path: texts[0]?.path ?? SEARCH_PATH, title: 'Guides' };
  const links = linksTo([guides, ...others, ...texts.filter(({ path }) => path === '/docs/changelog')]);
  app.get('/docs', async (_request, reply) => {
    const scriptNonce = nonce();
    return reply
      .headers({ 'content-security-policy': referencePolicy(scriptNonce), 'content-language': 'en' })
      .type(HTML)
      .serializer(String)
      .send(referencePage(links, scriptNonce));
  });
  const addFile = (path: string, type: string, content: string): void => {
    app.get(path, async (_request, reply) =>
      reply.headers({ 'cache-control': 'public, max-age=3600' }).type(type).serializer(String).send(content),
    );
  };
  addFile('/docs/reference.js', SCRIPT, initializeScript({ documentUrl: OPENAPI_PATH, demoAccounts }));
  addFile('/docs/nonce.js', SCRIPT, NONCE_SCRIPT);
  addFile('/docs/reference.css', STYLE, readFileSync(new URL('./reference.css', import.meta.url), 'utf8'));
  app.get('/docs/scalar.js', createSendScalar());
  app.get(EVENTS_DOCUMENT_PATH, async () => events);
};

/** The pages and their search. They are rendered once, because they are the same for every reader. */
const addPages = (app: FastifyInstance, pages: readonly DocsPage[]): void => {
  const links = [{ path: '/docs', title: 'API reference' }, ...pages];
  for (const page of pages) {
    const rendered = renderDocs(page, links);
    app.get(page.path, async (_request, reply) => send(reply, rendered));
  }
  const search = createSearch(pages, links);
  app.get(SEARCH_PATH, async (request, reply) => {
    const { q } = request.query as { q?: unknown };
    return send(reply, search(typeof q === 'string' ? q : ''));
  });
};

const send = (reply: FastifyReply, { headers, html }: Page): FastifyReply =>
  reply.headers(headers).serializer(String).send(html);

/** The script has four megabytes, so it is read and compressed at the first request. */
const createSendScalar = () => {
  let reading: Promise<{ bytes: number; send: ReturnType<typeof encodedOnce> }> | undefined;
  const read = async () => {
    const script = Buffer.from(await readScalar());
    return { bytes: script.length, send: encodedOnce(script) };
  };
  return async (request: FastifyRequest, reply: FastifyReply): Promise<FastifyReply> => {
    reading ??= read();
    const { bytes, send } = await reading;
    reply.headers({ 'cache-control': 'public, max-age=3600', vary: 'accept-encoding' }).type(SCRIPT);
    return send(codingOf(request.headers['accept-encoding'] as string | undefined, bytes), reply);
  };
};
