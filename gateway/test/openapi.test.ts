import { readFile } from 'node:fs/promises';
import { posix } from 'node:path';
import zlib from 'node:zlib';
import { EVENTS } from '@fitness/proto/events/catalogue.ts';
import { CATALOGUES, type MessageKey } from '@fitness/shared/kernel/i18n/catalogue.ts';
import { DEFAULT_LOCALE, LOCALES, translate } from '@fitness/shared/kernel/i18n/translate.ts';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, jest, test } from '@jest/globals';
import { request } from 'undici';
import { DOCUMENT_TEXTS } from '../src/api/document-texts.ts';
import { TEXTS } from '../src/pages/docs/text-page.ts';
import { SERVICES } from '../src/request/routes.ts';
import { type Harness, startHarness } from './support.ts';

let harness: Harness;
const open = async (): Promise<void> => {
  harness = await startHarness();
  for (const [service, path] of DESCRIBED) harness.upstreams[service].document = describeRoute(service, path);
};
const close = () => harness.close();

const DESCRIBED = [
  ['identity', '/api/v1/auth/me'],
  ['wallet', '/api/v1/payments/{id}'],
  ['gyms', '/api/v1/gyms'],
  ['content', '/api/v1/posts'],
  ['media', '/api/v1/media/{id}/{filename}'],
  ['store-billing', '/api/v1/payments/boost'],
] as const;

const describeRoute = (title: string, path: string): unknown => ({
  openapi: '3.1.0',
  info: { title, version: '1' },
  components: {
    schemas: {
      Error: { type: 'object', properties: { message: { type: 'string' } } },
      Own: { const: title },
    },
  },
  paths: {
    [path]: {
      get: {
        summary: title,
        tags: [title],
        parameters: [...path.matchAll(/\{(\w+)\}/g)].map(([, name]) => ({
          name,
          in: 'path',
          required: true,
          schema: { type: 'string' },
        })),
        security: [{ bearer: [] }],
        responses: {
          200: {
            description: 'ok',
            content: { 'application/json': { schema: { $ref: '#/components/schemas/Own' } } },
          },
          401: {
            description: 'no',
            content: { 'application/json': { schema: { $ref: '#/components/schemas/Error' } } },
          },
        },
      },
    },
    '/internal/secret': { get: { responses: { 200: { description: 'x' } } } },
  },
});

// biome-ignore lint/suspicious/noExplicitAny: a document under test has whatever shape it has
const readDocument = async (): Promise<{ status: number; document: any }> => {
  const answer = await fetch(`${harness.url}/api/v1/openapi.json`);
  return { status: answer.status, document: await answer.json() };
};

const referencesIn = (document: unknown): string[] =>
  [...JSON.stringify(document).matchAll(/"\$ref":"([^"]+)"/g)].map(([, reference]) => reference ?? '');

describe('GET /api/v1/openapi.json', () => {
  beforeAll(open);
  afterAll(close);

  test('the OpenAPI document is encoded once, and has the same bytes and ETag for every client', async () => {
    await readDocument();
    const encode = jest.spyOn(JSON, 'stringify');
    try {
      const answers = await Promise.all(
        Array.from({ length: 5 }, () => fetch(`${harness.url}/api/v1/openapi.json`)),
      );
      const texts = new Set(await Promise.all(answers.map((answer) => answer.text())));
      const etags = new Set(answers.map(({ headers }) => headers.get('etag')));
      expect([texts.size, etags.size]).toEqual([1, 1]);
      const documents = encode.mock.calls.filter(([value]) => (value as { openapi?: string })?.openapi);
      expect(documents).toEqual([]);
    } finally {
      encode.mockRestore();
    }
  });

  test('the OpenAPI document is compressed as the client accepts it, with one ETag per coding', async () => {
    const ask = async (coding: string, etag = '"none"') => {
      const {
        statusCode: status,
        headers,
        body,
      } = await request(`${harness.url}/api/v1/openapi.json`, {
        headers: { 'accept-encoding': coding, 'if-none-match': etag },
      });
      const bytes = Buffer.from(await body.arrayBuffer());
      return { status, coding: headers['content-encoding'], etag: String(headers.etag), bytes };
    };
    const [plain, gzip, br] = [await ask('identity'), await ask('gzip'), await ask('br')];
    expect([plain.coding, gzip.coding, br.coding]).toEqual([undefined, 'gzip', 'br']);
    expect(new Set([plain.etag, gzip.etag, br.etag]).size).toBe(3);
    expect(zlib.gunzipSync(gzip.bytes)).toEqual(plain.bytes);
    expect(zlib.brotliDecompressSync(br.bytes)).toEqual(plain.bytes);
    expect((await ask('gzip', gzip.etag)).status).toBe(304);
    expect((await ask('identity', gzip.etag)).status).toBe(200);
  });

  test('the OpenAPI document has the public routes of all services, and every reference resolves', async () => {
    const { status, document } = await readDocument();
    expect(status).toBe(200);
    expect(document).toMatchObject({
      openapi: '3.1.0',
      info: { title: expect.any(String), version: expect.any(String) },
      servers: [{ url: 'https://api.example.com' }],
      components: { securitySchemes: { bearer: { type: 'http', scheme: 'bearer' } } },
    });
    expect(Object.keys(document.paths)).toEqual(DESCRIBED.map(([, path]) => path).sort());
    const names = Object.keys(document.components.schemas);
    expect(names).toEqual([
      'ContentOwn',
      'Error',
      'GymsOwn',
      'IdentityOwn',
      'MediaOwn',
      'StoreBillingOwn',
      'WalletOwn',
    ]);
    const references = referencesIn(document);
    // Each service refers to its own schema and to the error, which refers to its schema.
    expect(references).toHaveLength(2 * SERVICES.length + 1);
    for (const reference of references) {
      const [, components = '', kind = '', name = ''] = reference.split('/');
      expect([reference, document[components][kind][name]]).toEqual([reference, expect.anything()]);
    }
    expect(document.tags).toHaveLength(SERVICES.length);
  });

  test('the OpenAPI document has its title, tags and texts in English or the requested language', async () => {
    const ask = async (query: string, headers: Record<string, string> = {}) => {
      const answer = await fetch(`${harness.url}/api/v1/openapi.json${query}`, { headers });
      const { info, tags, paths, ...others } = (await answer.json()) as Record<string, never>;
      const language = answer.headers.get('content-language');
      return { language, etag: answer.headers.get('etag'), info, tags, paths, others } as never;
    };
    // biome-ignore lint/suspicious/noExplicitAny: a document under test has whatever shape it has
    const [english, persian, byHeader]: any[] = [
      await ask(''),
      await ask('?lang=fa'),
      await ask('', { 'accept-language': 'fa-IR' }),
    ];
    expect(byHeader).toEqual(persian);
    expect([english.language, persian.language]).toEqual(['en', 'fa']);
    expect(english.etag).not.toBe(persian.etag);
    expect(english.info.title).toBe('Fitness platform');
    expect(persian.info).toMatchObject({
      title: translate('fa', 'docs.title'),
      version: english.info.version,
    });
    expect(persian.info.description).toContain('عنوان عملیات‌ها به فارسی');
    const tagOf = ({ tags }: { tags: { name: string }[] }) => tags.find(({ name }) => name === 'Gyms');
    expect(tagOf(english)).toEqual({ name: 'Gyms', description: translate('en', 'docs.tags.gyms') });
    expect(tagOf(persian)).toEqual({
      name: 'Gyms',
      'x-displayName': translate('fa', 'docs.tags.gyms.name'),
      description: translate('fa', 'docs.tags.gyms'),
    });
    const summaries = ({ paths }: { paths: Record<string, { get: { summary: string } }> }) =>
      Object.entries(paths).map(([path, { get }]) => [path, get.summary]);
    expect(summaries(english)).toContainEqual(['/api/v1/gyms', 'gyms']);
    expect(summaries(persian)).toContainEqual(['/api/v1/gyms', 'فهرست باشگاه‌ها']);
    expect(persian.others).toEqual(english.others);
  });
});

describe('a gateway that has read no document yet', () => {
  beforeEach(open);
  afterEach(close);

  test('an operation without a summary in a language has the English summary', async () => {
    harness.upstreams.gyms.document = describeRoute('Of a later release', '/api/v1/gyms/later');
    const answer = await fetch(`${harness.url}/api/v1/openapi.json?lang=fa`);
    const { paths } = (await answer.json()) as { paths: Record<string, { get: { summary: string } }> };
    expect(paths['/api/v1/gyms/later']?.get.summary).toBe('Of a later release');
  });

  test('concurrent requests read the document of each service once', async () => {
    await Promise.all(Array.from({ length: 20 }, readDocument));
    await readDocument();
    expect(SERVICES.map((service) => harness.upstreams[service].documentReads)).toEqual([1, 1, 1, 1, 1, 1]);
  });

  test('an unavailable service is left out of the document, and called again at the next request', async () => {
    await harness.upstreams.gyms.stop();
    expect(Object.keys((await readDocument()).document.paths)).not.toContain('/api/v1/gyms');
    await harness.upstreams.gyms.start();
    expect(Object.keys((await readDocument()).document.paths)).toContain('/api/v1/gyms');
  });

  test('an invalid document of a service is left out', async () => {
    harness.upstreams.gyms.document = { paths: 'none' };
    const { status, document } = await readDocument();
    expect([status, Object.keys(document.paths).length]).toEqual([200, SERVICES.length - 1]);
  });

  test('the OpenAPI document returns 503 while no service responds', async () => {
    await Promise.all(Object.values(harness.upstreams).map((upstream) => upstream.stop()));
    expect((await readDocument()).status).toBe(503);
  });
});

describe('GET /docs', () => {
  beforeAll(open);
  afterAll(close);

  const load = async (
    path: string,
  ): Promise<{ status: number; type: string; policy: string; text: string }> => {
    const answer = await fetch(`${harness.url}${path}`);
    return {
      status: answer.status,
      type: answer.headers.get('content-type') ?? '',
      policy: answer.headers.get('content-security-policy') ?? '',
      text: await answer.text(),
    };
  };

  const PAGES = ['/docs', '/docs/errors', '/docs/events', '/docs/limits', '/docs/retries', '/docs/changelog'];

  test.each([...PAGES, '/docs/'])('%s is a page that loads only files of this origin', async (path) => {
    const page = await load(path);
    expect([page.status, page.type]).toEqual([200, 'text/html; charset=utf-8']);
    const parts = [...page.text.matchAll(/(?:src|href)="(\/[^"]+)"/g)].map(([, part]) => part ?? '');
    expect(parts.length).toBeGreaterThan(2);
    for (const part of parts) {
      expect(part).toMatch(/^\/(?:docs|assets)\b/);
      expect([part, (await load(part)).status]).toEqual([part, 200]);
    }
    expect(page.text).not.toMatch(/(?:src|href)="(?!\/(?:docs|assets)\b)/);
  });

  test.each(PAGES)(
    'the policy of %s forbids other origins, inline scripts and inline style elements',
    async (path) => {
      const { policy, text } = await load(path);
      expect(policy).toContain("default-src 'none'");
      // The other pages have no scripts at all.
      if (path === '/docs') expect(policy).toContain("script-src 'self';");
      else expect(policy).not.toContain('script-src');
      expect(policy).not.toMatch(/unsafe-eval|https?:|\*/);
      expect(policy.replace("style-src-attr 'unsafe-inline'", '')).not.toContain('unsafe-inline');
      expect(text).not.toMatch(/<script>|<style>|\son\w+=/);
    },
  );

  test('each response of the reference has a different nonce', async () => {
    const nonceOf = ({ policy }: { policy: string }): string | undefined =>
      /'nonce-([^']+)'/.exec(policy)?.[1];
    const [first, second] = [await load('/docs'), await load('/docs')];
    expect(nonceOf(first)).toMatch(/^.{20,}$/);
    expect(nonceOf(second)).not.toBe(nonceOf(first));
    expect(first.text).toContain(`content="${nonceOf(first)}"`);
  });

  test('the reference shows the public document, and no accounts without the demo data', async () => {
    const { text } = await load('/docs/reference.js');
    expect(text).toContain('fetch("/api/v1/openapi.json?lang=en")');
    expect(text).toContain('const accounts = [];');
    expect(text).not.toContain('password"');
  });

  test('the errors page has each code with its text in both languages', async () => {
    const { text } = await load('/docs/errors');
    expect(text).toContain('<code>payments.<wbr>insufficient_<wbr>balance</code>');
    expect(text).toContain('lang="fa" dir="rtl"');
    expect(text).toMatch(/\p{Script=Arabic}/u);
  });

  test('the errors page links to each code, and says when it occurs and what to do', async () => {
    const { text } = await load('/docs/errors');
    const ids = [...text.matchAll(/ id="([^"]+)"/g)].map(([, id]) => id);
    expect(ids).toEqual([...new Set(ids)]);
    expect(ids).toEqual(expect.arrayContaining(['400', '400-payments.insufficient_balance']));
    for (const [, target] of text.matchAll(/errors\?lang=en#([^"]+)"/g)) expect(ids).toContain(target);
    expect(text).toMatch(/When:.*balance of the wallet is too low.*?What to do:.*?Offer to deposit/s);
  });

  test.each(PAGES)('%s is in the language of its reader', async (path) => {
    const languageOf = async (query: string, headers: Record<string, string>): Promise<string | undefined> =>
      /<html lang="(\w+)" dir="\w+">/.exec(
        await (await fetch(`${harness.url}${path}${query}`, { headers })).text(),
      )?.[1];
    expect(await languageOf('', { 'accept-language': 'fa' })).toBe('fa');
    expect(await languageOf('?lang=fa', { 'accept-language': 'en' })).toBe('fa');
    expect(await languageOf('', {})).toBe('en');
    const { text } = await load(`${path}?lang=fa`);
    expect(text).toContain('dir="rtl"');
    expect(text).toContain(`href="${path}?lang=en" lang="en"`);
  });

  test.each(PAGES)('%s links to each of the other pages in the language of its reader', async (path) => {
    const { text } = await load(`${path}?lang=fa`);
    for (const other of PAGES) {
      if (other !== path) expect(text).toContain(`href="${other}?lang=fa"`);
    }
  });

  test.each(TEXTS)('$path has the text of $file, with contents that link to its headings', async (own) => {
    const source = await readFile(new URL(`../../${own.file}`, import.meta.url), 'utf8');
    const headings = [...source.matchAll(/^##+ (.+)$/gm)].map(([, heading = '']) =>
      // The versions of the changelog.
      heading.replace(/^\[(.+?)\]/, '$1'),
    );
    const { text } = await load(`${own.path}?lang=fa`);
    expect([...text.matchAll(/<h[23] id="[^"]+">(.+)<\/h[23]>/g)].map(([, heading]) => heading)).toEqual(
      headings,
    );
    const ids = [...text.matchAll(/ id="([^"]+)"/g)].map(([, id]) => id);
    expect(ids).toEqual([...new Set(ids)]);
    const contents = [...text.matchAll(new RegExp(`href="${own.path}\\?lang=fa#([^"]+)"`, 'g'))].map(
      ([, id]) => id,
    );
    expect(contents).toEqual(expect.arrayContaining(ids));
    for (const id of contents) expect(ids).toContain(id);
    for (const [cell] of text.matchAll(/<td[\s\S]*?<\/td>/g)) {
      expect(cell).toMatch(/^<td data-label="[^"`]+"(?: data-empty="")?><div>[\s\S]*<\/div><\/td>$/);
    }
    expect(text).toContain('متن این صفحه به انگلیسی است.');
    expect((await load(own.path)).text).not.toContain('The text of this page is in English.');
  });

  test('the contents of the changelog have the sections of each version beside it', async () => {
    const { text } = await load('/docs/changelog');
    const [, contents = ''] = /<nav class="row" aria-label="Contents">(.*?)<\/nav>/s.exec(text) ?? [];
    const titles = [...contents.matchAll(/>([^<>]*(?:<wbr>[^<>]*)*)<\/a>(<\/strong>)?/g)].map(
      ([, title = '', isVersion]) => [title.replaceAll('<wbr>', ''), isVersion !== undefined],
    );
    expect(titles.slice(0, 3)).toEqual([
      [expect.stringMatching(/^\d+\.\d+\.\d+( - unreleased)?$/), true],
      ['Security', false],
      ['Added', false],
    ]);
    // Each version has a separate list, so no list has a section twice.
    for (const [, list = ''] of contents.matchAll(/<strong>.*?<\/strong><ul[^>]*>(.*?)<\/ul>/gs)) {
      const links = [...list.matchAll(/<a [^>]*>(.*?)<\/a>/g)].map(([, title]) => title);
      expect(links).toEqual([...new Set(links)]);
    }
  });

  test('the image of the product contains each text of the pages', async () => {
    const read = (file: string) => readFile(new URL(`../../${file}`, import.meta.url), 'utf8');
    const [ignored, stages] = [await read('.dockerignore'), await read('Dockerfile')];
    const product = stages.slice(stages.indexOf(' AS product'));
    for (const { file } of TEXTS) {
      expect(ignored.slice(ignored.indexOf('**/*.md'))).toContain(`\n!${file}\n`);
      expect([file, posix.dirname(file)].some((source) => product.includes(`COPY ${source} `))).toBe(true);
    }
  });

  test('every event is on the events page and in the AsyncAPI document, whose references resolve', async () => {
    const document = JSON.parse((await load('/docs/events/asyncapi.json')).text);
    expect(document.asyncapi).toBe('3.0.0');
    const page = await load('/docs/events');
    for (const { type, consumers = [] } of EVENTS) {
      expect(document.channels[type].address).toBe(type);
      expect(page.text).toContain(`id="${type}"`);
      for (const consumer of consumers)
        expect(document.operations[`receive.${type}.${consumer}`].action).toBe('receive');
    }
    const references = referencesIn(document);
    expect(references.length).toBeGreaterThan(EVENTS.length);
    for (const reference of references) {
      const target = reference
        .slice(2)
        .split('/')
        .reduce((value, part) => value?.[part], document);
      expect([reference, target]).toEqual([reference, expect.anything()]);
    }
  });

  test('the events page links to each event, and says when it is published and what to do', async () => {
    for (const locale of LOCALES) {
      const { text } = await load(`/docs/events?lang=${locale}`);
      for (const { type, summary = '' } of EVENTS) {
        expect(text).toContain(`href="/docs/events?lang=${locale}#${type}"`);
        const [, section = ''] = text.split(`<section class="card" id="${type}">`);
        const own = section.slice(0, section.indexOf('</section>'));
        const remedy = translate(locale, `docs.events.remedy.${type}` as MessageKey).split('`')[0] ?? '';
        expect([type, remedy.length > 5, own.includes(remedy)]).toEqual([type, true, true]);
        expect(own).toContain(translate(locale, 'docs.events.when'));
        const when = locale === DEFAULT_LOCALE ? summary : DOCUMENT_TEXTS[locale]?.events[type];
        expect([type, own.includes(when?.split('`')[0] ?? '?')]).toEqual([type, true]);
      }
    }
    const remedies = Object.keys(CATALOGUES.get('en') ?? {}).filter((key) =>
      key.startsWith('docs.events.remedy.'),
    );
    expect(remedies.sort()).toEqual(EVENTS.map(({ type }) => `docs.events.remedy.${type}`).sort());
  });

  test('a payload in the AsyncAPI document has the schema of its event', async () => {
    const { components } = JSON.parse((await load('/docs/events/asyncapi.json')).text);
    const [, own] = components.messages['gyms.gym.changed'].payload.allOf;
    expect(own.properties.type).toEqual({ type: 'string', const: 'gyms.gym.changed' });
    expect(own.properties.data.required).toEqual(['gym_id', 'name', 'user_id', 'is_active']);
    expect(own.properties.data.properties.gym_id).toMatchObject({
      type: 'integer',
      format: 'int64',
      minimum: 1,
    });
  });
});
