import type { IncomingMessage } from 'node:http';
import type { FastifyBodyParser, FastifyInstance } from 'fastify';
import { badRequest, message } from '../kernel/error.ts';
import { isNestedTooDeeply } from './json-nesting.ts';

/**
 * Accepts JSON bodies in strict UTF-8, and nothing else.
 * @param readBody reads them instead of Fastify, with its own limits
 */
export const acceptJson = (
  app: FastifyInstance,
  readBody: ((source: IncomingMessage) => Promise<Buffer>) | undefined,
): void => {
  const parse = app.getDefaultJsonParser('error', 'error');
  const utf8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: false });
  const decode: FastifyBodyParser<Buffer> = (request, body, done) => {
    if (body.length === 0) return done(null, undefined);
    let text: string;
    try {
      text = utf8.decode(body);
    } catch {
      return done(badRequest('bad_request', message('error.malformed_json')));
    }
    if (isNestedTooDeeply(text)) return done(badRequest('bad_request', message('error.nested_too_deeply')));
    return parse(request, text, done);
  };
  app.removeAllContentTypeParsers();
  if (readBody === undefined) {
    app.addContentTypeParser<Buffer>('application/json', { parseAs: 'buffer' }, decode);
  } else {
    app.addContentTypeParser('application/json', (request, payload, done) => {
      readBody(payload as IncomingMessage).then((body) => decode(request, body, done), done);
    });
  }
};
