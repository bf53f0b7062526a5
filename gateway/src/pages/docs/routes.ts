/** `/docs`: the API reference, the errors, the events and the guides. Every file is served from this origin. */
import { codingOf, encodedOnce } from '@fitness/shared/http/compression.ts';
import { API_PREFIX } from '@fitness/shared/http/gateway-protocol.ts';
import { LOCALES, type Locale } from '@fitness/shared/kernel/i18n/translate.ts';
import { localeOfPage } from '@fitness/shared/pages/languages.ts';
import type { Page } from '@fitness/shared/pages/page.ts';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { asyncApiDocument } from '../../api/asyncapi.ts';
import { errorsPage } from './errors-page.ts';
import { eventsPage } from './events-page.ts';
import {
  type DemoAccount,
  initializeScript,
  NONCE_SCRIPT,
  REFERENCE_STYLE,
  readScalar,
  referencePage,
} from './reference.ts';
import { TEXTS, textPage } from './text-page.ts';

export const OPENAPI_PATH = `${API_PREFIX}/openapi.json`;
const EVENTS_DOCUMENT_PATH = '/docs/events/asyncapi.json';

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

/** Computes a value for each language once. */
const inEachLanguage = <Value>(make: (locale: Locale) => Value): ((locale: Locale) => Value) => {
  const values = new Map(LOCALES.map((locale) => [locale, make(locale)]));
  return (locale) => values.get(locale) as Value;
};

export const addDocs = (app: FastifyInstance, { demoAccounts, nonce }: DocsOptions): void => {
  const addFile = (path: string, type: string, contentIn: (locale: Locale) => string): void => {
    app.get(path, async (request, reply) =>
      reply
        .headers({ 'cache-control': 'public, max-age=3600', vary: 'accept-language' })
        .type(type)
        .serializer(String)
        .send(contentIn(localeOfPage(request))),
    );
  };
  const addPage = (path: string, make: (locale: Locale) => Page): void => {
    const pageIn = inEachLanguage(make);
    app.get(path, async (request, reply) => {
      const { headers, html } = pageIn(localeOfPage(request));
      return reply
        .headers({ ...headers, vary: 'accept-language' })
        .serializer(String)
        .send(html);
    });
  };
  app.get('/docs', async (request, reply) => {
    const scriptNonce = nonce();
    const locale = localeOfPage(request);
    return reply
      .headers({
        'content-security-policy': referencePolicy(scriptNonce),
        'content-language': locale,
        vary: 'accept-language',
      })
      .type(HTML)
      .serializer(String)
      .send(referencePage(locale, scriptNonce));
  });
  const script = inEachLanguage((locale) =>
    initializeScript({ locale, documentUrl: OPENAPI_PATH, demoAccounts }),
  );
  addFile('/docs/reference.js', SCRIPT, script);
  addFile('/docs/nonce.js', SCRIPT, () => NONCE_SCRIPT);
  addFile('/docs/reference.css', STYLE, () => REFERENCE_STYLE);
  app.get('/docs/scalar.js', createSendScalar());
  const events = asyncApiDocument();
  addPage('/docs/errors', errorsPage);
  addPage('/docs/events', (locale) => eventsPage(locale, events));
  for (const text of TEXTS) addPage(text.path, (locale) => textPage(locale, text));
  app.get(EVENTS_DOCUMENT_PATH, async () => events);
};

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
