/** `/docs`: Swagger UI for the public document, served by this process under a strict content security policy. */
import { readFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { API_PREFIX } from '@fitness/shared/http/server.ts';
import type { FastifyInstance } from 'fastify';

export const OPENAPI_PATH = `${API_PREFIX}/openapi.json`;

const POLICY = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "img-src 'self' data:",
  "connect-src 'self'",
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
].join('; ');

const PAGE = `<!doctype html>
<html lang="en">
  <head>
    <meta charset="utf-8">
    <meta name="viewport" content="width=device-width, initial-scale=1">
    <title>Fitness platform API</title>
    <link rel="icon" type="image/png" href="/docs/favicon-32x32.png">
    <link rel="stylesheet" href="/docs/index.css">
    <link rel="stylesheet" href="/docs/swagger-ui.css">
  </head>
  <body>
    <div id="swagger-ui"></div>
    <script src="/docs/swagger-ui-bundle.js"></script>
    <script src="/docs/initialise.js"></script>
  </body>
</html>
`;

const INITIALISE = `SwaggerUIBundle({
  url: ${JSON.stringify(OPENAPI_PATH)},
  dom_id: '#swagger-ui',
  deepLinking: true,
  docExpansion: 'list',
  defaultModelsExpandDepth: 0,
  persistAuthorization: false,
  validatorUrl: null,
});
`;

const SCRIPT = 'text/javascript; charset=utf-8';
const STYLE = 'text/css; charset=utf-8';
/** Files of the package that the page loads. */
const ASSETS = {
  'favicon-32x32.png': 'image/png',
  'index.css': STYLE,
  'swagger-ui.css': STYLE,
  'swagger-ui-bundle.js': SCRIPT,
} as const;

/** Only the package's files are used: its Fastify plugin cannot show an asynchronous document. */
const assetsDirectory = (): string =>
  join(dirname(fileURLToPath(import.meta.resolve('@fastify/swagger-ui/package.json'))), 'static');

export const addDocs = async (app: FastifyInstance): Promise<void> => {
  const directory = assetsDirectory();
  const add = (path: string, type: string, content: string | Buffer): void => {
    app.get(path, async (_request, reply) =>
      reply
        .headers({ 'content-security-policy': POLICY, 'cache-control': 'public, max-age=3600' })
        .type(type)
        .serializer(String)
        .send(content),
    );
  };
  add('/docs', 'text/html; charset=utf-8', PAGE);
  add('/docs/initialise.js', SCRIPT, INITIALISE);
  for (const [name, type] of Object.entries(ASSETS)) {
    add(`/docs/${name}`, type, await readFile(join(directory, name)));
  }
};
