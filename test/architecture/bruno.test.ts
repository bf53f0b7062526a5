import { expect, test } from '@jest/globals';
import bruno from '@usebruno/lang';
import { loadApiDocument } from './api-document.ts';
import { files, read } from './support.ts';

interface BrunoFile {
  http: { method: string; url: string };
  body?: { json?: string };
}

/** `GET /api/v1/gyms/:id` and the JSON of its body. */
const requestIn = (file: string): [string, unknown] => {
  const { http, body } = bruno.bruToJsonV2(read(file)) as BrunoFile;
  const name = `${http.method.toUpperCase()} ${http.url.replace('{{baseUrl}}', '')}`;
  return [name, body?.json === undefined ? undefined : JSON.parse(body.json)];
};

test('the Bruno collection has every operation, with the body of its example', async () => {
  const collection = files.filter((file) => /^docs\/api\/bruno\/[^/]+\/[^/]+\.bru$/.test(file));
  const requests = collection.filter((file) => !file.includes('/environments/')).map(requestIn);
  const document = await loadApiDocument();
  const documented = Object.entries(document.paths).flatMap(([path, operations]) =>
    Object.entries(operations).map(([method, { requestBody }]) => [
      `${method.toUpperCase()} ${path.replaceAll(/\{(\w+)\}/g, ':$1')}`,
      exampleOf(requestBody),
    ]),
  );
  expect(documented.length).toBeGreaterThan(60);
  expect(Object.fromEntries(requests)).toEqual(Object.fromEntries(documented));
});

const exampleOf = (requestBody: unknown): unknown => {
  const { content } = (requestBody ?? {}) as { content?: Record<string, { example?: unknown }> };
  const json = content?.['application/json'];
  return json === undefined ? undefined : (json.example ?? {});
};
