/** `/app`: the sample app, and the modules that it imports in the browser. */
import { createHash } from 'node:crypto';
import { readdirSync, readFileSync } from 'node:fs';
import { stripTypeScriptTypes } from 'node:module';
import type { FastifyInstance } from 'fastify';

const APP = readFileSync(new URL('./app.html', import.meta.url), 'utf8');
const API_META = /(?<=<meta name="api" content=")[^"]*/;
const INLINE = /<(style|script)\b[^>]*>(.*?)<\/\1>/gs;

const CLIENT = import.meta.resolve('@fitness/client');
const CLIENT_MODULES = readdirSync(new URL('.', CLIENT), { recursive: true, encoding: 'utf8' }).filter(
  (name) => /(?<!\.test)\.ts$/.test(name),
);
const OPENAPI_FETCH = import.meta.resolve('openapi-fetch');

const sourcesOf = (html: string, tag: string): string[] =>
  [...html.matchAll(INLINE)]
    .filter(([, name]) => name === tag)
    .map(([, , content = '']) => `'sha256-${createHash('sha256').update(content).digest('base64')}'`);

/** Only scripts and styles of the page may run. The page calls the API and reads the SMS inbox. */
const policyOf = (html: string, apiUrl: string): string =>
  [
    "default-src 'none'",
    ['script-src', "'self'", ...sourcesOf(html, 'script')].join(' '),
    ['style-src', ...sourcesOf(html, 'style')].join(' '),
    "font-src 'self'",
    `img-src 'self' ${apiUrl}`,
    `connect-src 'self' ${apiUrl}`,
    "form-action 'none'",
    "base-uri 'none'",
    "frame-ancestors 'none'",
  ].join('; ');

/** `apiUrl`: origin of the gateway, for browsers. */
export const addSample = (app: FastifyInstance, apiUrl: string): void => {
  const html = APP.replace(API_META, apiUrl);
  const headers = {
    'content-type': 'text/html; charset=utf-8',
    'content-security-policy': policyOf(html, apiUrl),
    'x-frame-options': 'DENY',
    'cache-control': 'no-store',
  };
  app.get('/app', async (_request, reply) => reply.headers(headers).send(html));

  const script = { 'content-type': 'text/javascript; charset=utf-8', 'cache-control': 'no-cache' };
  // The browser gets the sources of the client, stripped of their types.
  for (const name of CLIENT_MODULES) {
    app.get(`/app/client/${name}`, async (_request, reply) => {
      const source = readFileSync(new URL(name, CLIENT), 'utf8');
      return reply.headers(script).send(stripTypeScriptTypes(source));
    });
  }
  app.get('/app/openapi-fetch.js', async (_request, reply) =>
    reply.headers(script).send(readFileSync(new URL(OPENAPI_FETCH), 'utf8')),
  );
};
