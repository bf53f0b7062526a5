import { readdir, readFile } from 'node:fs/promises';
import { posix } from 'node:path';
import zlib from 'node:zlib';
import { EVENTS } from '@fitness/proto/events/catalogue.ts';
import { afterAll, beforeAll, describe, expect, jest, test } from '@jest/globals';
import { request } from 'undici';
import { DOCUMENT_FILE } from '../src/api/openapi.ts';
import { textSources } from '../src/pages/docs/text-pages.ts';
import { type Harness, startHarness } from './support.ts';

let harness: Harness;
const open = async (env: Record<string, string> = {}): Promise<void> => {
  harness = await startHarness(env);
};
const close = () => harness.close();

/** A route of each service. */
const ROUTES = [
  '/api/v1/auth/delete-account',
  '/api/v1/payments/{id}',
  '/api/v1/gyms',
  '/api/v1/posts',
  '/api/v1/media/{id}/{filename}',
  '/api/v1/payments/boost',
];

/** The document of the repository with another public origin. */
const writtenDocument = async (origin: string): Promise<unknown> => {
  const text = await readFile(new URL(`../../${DOCUMENT_FILE}`, import.meta.url), 'utf8');
  return JSON.parse(text.replaceAll('https://api.example.com', origin));
};

// biome-ignore lint/suspicious/noExplicitAny: a document under test has whatever shape it has
const readDocument = async (): Promise<{ status: number; document: any }> => {
  const answer = await fetch(`${harness.url}/api/v1/openapi.json`);
  return { status: answer.status, document: await answer.json() };
};

const referencesIn = (document: unknown): string[] =>
  [...JSON.stringify(document).matchAll(/"\$ref":"([^"]+)"/g)].map(([, reference]) => reference ?? '');

describe('GET /api/v1/openapi.json', () => {
  beforeAll(() => open());
  afterAll(close);

  test('the OpenAPI document is encoded once, and has the same bytes and ETag for every client', async () => {
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
      components: { securitySchemes: { bearer: { type: 'http', scheme: 'bearer' } } },
    });
    const paths = Object.keys(document.paths);
    expect(paths).toEqual(expect.arrayContaining(ROUTES));
    expect(paths.filter((path) => !path.startsWith('/api/v1/'))).toEqual([]);
    const references = referencesIn(document);
    expect(references.length).toBeGreaterThan(paths.length);
    for (const reference of references) {
      const [, components = '', kind = '', name = ''] = reference.split('/');
      expect([reference, document[components][kind][name]]).toEqual([reference, expect.anything()]);
    }
  });

  test('the OpenAPI document is in English for every reader', async () => {
    const ask = async (query: string, headers: Record<string, string> = {}) => {
      const answer = await fetch(`${harness.url}/api/v1/openapi.json${query}`, { headers });
      return { language: answer.headers.get('content-language'), text: await answer.text() };
    };
    const english = await ask('');
    expect(english.language).toBe('en');
    expect(await ask('?lang=fa')).toEqual(english);
    expect(await ask('', { 'accept-language': 'fa-IR' })).toEqual(english);
    const { info, tags } = JSON.parse(english.text);
    expect(info.title).toBe('Fitness platform');
    expect(info.description).toMatch(/^Manage the users.*- `/s);
    expect(tags).toContainEqual({ name: 'Gyms', description: expect.stringMatching(/^Gyms with/) });
  });
});

describe('a gateway whose services do not respond', () => {
  beforeAll(() => open({ PUBLIC_BASE_URL: 'https://fitness.test' }));
  afterAll(close);

  test.each(['are slow', 'are down'])(
    'the OpenAPI document is whole while the services %s',
    async (state) => {
      for (const upstream of Object.values(harness.upstreams)) {
        upstream.internal = () => undefined;
        if (state === 'are down') await upstream.stop();
      }
      const { status, document } = await readDocument();
      expect([status, document]).toEqual([200, await writtenDocument('https://fitness.test')]);
      expect(Object.keys(document.paths)).toEqual(expect.arrayContaining(ROUTES));
      expect(document.servers).toEqual([{ url: 'https://fitness.test' }]);
      expect(document.components.securitySchemes.oauth.flows.authorizationCode.tokenUrl).toBe(
        'https://fitness.test/oauth/token',
      );
      expect(Object.values(harness.upstreams).flatMap(({ strays }) => strays)).toEqual([]);
    },
  );
});

describe('GET /docs', () => {
  beforeAll(() => open());
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

  const TEXTS = textSources();
  const PAGES = ['/docs', '/docs/errors', '/docs/events', ...TEXTS.map(({ path }) => path)];

  test.each([...PAGES, '/docs/', '/docs/search'])(
    '%s is a page that loads only files of this origin',
    async (path) => {
      const page = await load(path);
      expect([page.status, page.type]).toEqual([200, 'text/html; charset=utf-8']);
      const parts = [...page.text.matchAll(/(?:src|href)="(\/[^"]+)"/g)].map(([, part]) => part ?? '');
      expect(parts.length).toBeGreaterThan(2);
      for (const part of parts) {
        expect(part).toMatch(/^\/(?:docs|assets)\b/);
        expect([part, (await load(part)).status]).toEqual([part, 200]);
      }
      expect(page.text).not.toMatch(/(?:src|<link[^>]+href)="(?!\/(?:docs|assets)\b)/);
      expect(page.text).not.toMatch(/<a href="(?!\/docs\b|#|https:)/);
    },
  );

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
    expect(text).toContain('fetch("/api/v1/openapi.json")');
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
    for (const [, target] of text.matchAll(/href="#([^"]+)"/g)) expect(ids).toContain(target);
    expect(text).toMatch(/When:.*balance of the wallet is too low.*?What to do:.*?Offer to deposit/s);
  });

  test.each(PAGES)('%s is in English for every reader', async (path) => {
    const { text } = await load(path);
    expect(text).toContain('<html lang="en" dir="ltr">');
    const withoutNonce = (page: string) => page.replaceAll(/nonce="[^"]+" content="[^"]+"/g, '');
    expect(withoutNonce((await load(`${path}?lang=fa`)).text)).toBe(withoutNonce(text));
    const persian = await fetch(`${harness.url}${path}`, { headers: { 'accept-language': 'fa' } });
    expect(withoutNonce(await persian.text())).toBe(withoutNonce(text));
    expect(persian.headers.get('content-language')).toBe('en');
  });

  test('each page links to all of them, and the reference to the guides, the errors, the events and the changelog', async () => {
    for (const path of [...PAGES, '/docs/search'].slice(1)) {
      const { text } = await load(path);
      for (const other of PAGES)
        expect(text).toContain(`<a href="${other}"${other === path ? ' aria-current="page"' : ''}>`);
    }
    const { text } = await load('/docs');
    for (const path of [TEXTS[0]?.path, '/docs/errors', '/docs/events', '/docs/changelog'])
      expect(text).toContain(`<a href="${path}">`);
  });

  test('every guide for app developers is a page', async () => {
    const files = await readdir(new URL('../../docs/guides/apps', import.meta.url));
    expect(files.map((file) => `/docs/${file.replace('.md', '')}`).sort()).toEqual(
      TEXTS.filter(({ file }) => file.startsWith('docs/guides/apps/'))
        .map(({ path }) => path)
        .sort(),
    );
  });

  test.each(TEXTS)('$path has the text of $file, with contents that link to its headings', async (own) => {
    const source = await readFile(new URL(`../../${own.file}`, import.meta.url), 'utf8');
    const headings = [...source.matchAll(/^##+ (.+)$/gm)].map(([, heading = '']) =>
      // The versions of the changelog.
      heading.replace(/^\[(.+?)\]/, '$1'),
    );
    const { text } = await load(own.path);
    expect(text).toContain(`<h1>${/^# (.+)$/m.exec(source)?.[1]}</h1>`);
    expect([...text.matchAll(/<h[23] id="[^"]+">(.+)<\/h[23]>/g)].map(([, heading]) => heading)).toEqual(
      headings,
    );
    const ids = [...text.matchAll(/<h\d id="([^"]+)"/g)].map(([, id]) => id);
    expect(ids).toEqual([...new Set(ids)]);
    const [, contents = ''] = /<nav class="row" aria-label="Contents">(.*?)<\/nav>/s.exec(text) ?? [];
    const linked = [...contents.matchAll(/href="#([^"]+)"/g)].map(([, id]) => id);
    expect(linked).toEqual(ids.length > 1 ? ids : []);
    for (const [cell] of text.matchAll(/<td[\s\S]*?<\/td>/g)) {
      expect(cell).toMatch(/^<td data-label="[^"`]+"(?: data-empty="")?><div>[\s\S]*<\/div><\/td>$/);
    }
    expect(text).not.toContain(' style=');
  });

  test('a link between guides leads to the page, and a file that the product does not have is only named', async () => {
    expect((await load('/docs/money')).text).toContain('href="/docs/limits#money"');
    const { text } = await load('/docs/oauth');
    expect(text).toContain('ADR 11');
    expect(text).not.toContain('.md"');
  });

  const search = async (query: string) => {
    const { status, text } = await load(`/docs/search?q=${encodeURIComponent(query)}`);
    expect(status).toBe(200);
    return {
      text,
      links: [...text.matchAll(/<li><a href="([^"]+)">[^<]*<\/a>\n<p/g)].map(([, link]) => link),
    };
  };

  test('the search finds guides, errors and events by all words of the query', async () => {
    expect((await search('Personal TOKENS')).links[0]).toBe('/docs/sign-in#personal-tokens');
    expect((await search('insufficient_balance')).links).toContain(
      '/docs/errors#400-payments.insufficient_balance',
    );
    expect((await search('موجودی nothing')).links).toEqual([]);
    expect((await search('موجودی شما')).links).toContain('/docs/errors#400-payments.insufficient_balance');
    expect((await search('gyms.gym.changed')).links).toContain('/docs/events#gyms.gym.changed');
    expect((await search('token')).links).toHaveLength(20);
  });

  test('each result of the search is a part of its page', async () => {
    for (const query of ['amount', 'token', 'event', 'limit']) {
      for (const link of (await search(query)).links) {
        const [path = '', id] = link?.split('#') ?? [];
        if (id !== undefined) expect((await load(path)).text).toContain(` id="${id}"`);
      }
    }
  });

  test('a query without results, without words, or with markup is shown as text', async () => {
    expect((await search('"><b>qqqq')).text).toContain('Nothing found for “&quot;&gt;&lt;b&gt;qqqq”.');
    expect((await search('"><b>qqqq')).text).toContain('value="&quot;&gt;&lt;b&gt;qqqq"');
    expect((await search(' ')).text).toContain('Enter one or more words.');
    expect((await load('/docs/search')).text).toContain('Enter one or more words.');
    expect((await load('/docs/search?q=a&q=b')).status).toBe(200);
    expect((await search(`${'x'.repeat(100)}yy`)).text).not.toContain('xyy');
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

  test('the image of the product contains each text of the pages, and the OpenAPI document', async () => {
    const read = (file: string) => readFile(new URL(`../../${file}`, import.meta.url), 'utf8');
    const [ignored, stages] = [await read('.dockerignore'), await read('Dockerfile')];
    const product = stages.slice(stages.indexOf(' AS product'));
    for (const { file } of TEXTS) {
      const [directory, inImage] = file.startsWith('docs/guides/apps/')
        ? [posix.dirname(file), `${posix.dirname(file)}/*.md`]
        : [file, file];
      expect(ignored.slice(ignored.indexOf('**/*.md'))).toContain(`\n!${inImage}\n`);
      expect(product).toContain(`COPY ${directory} `);
    }
    expect(ignored).toContain(`\n!${posix.dirname(DOCUMENT_FILE)}/*.json\n`);
    expect(product).toContain(`COPY ${posix.dirname(DOCUMENT_FILE)} `);
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
    const { text } = await load('/docs/events');
    for (const { type, summary = '', advice = '' } of EVENTS) {
      expect(text).toContain(`href="#${type}"`);
      const [, section = ''] = text.split(`<section class="card" id="${type}">`);
      for (const [label, sentence] of [
        ['When it is published', summary],
        ['What to do', advice],
      ]) {
        const [beginning = ''] = sentence?.split('`') ?? [];
        expect([type, beginning.length > 5]).toEqual([type, true]);
        expect(section.slice(0, section.indexOf('</section>'))).toContain(`${label}:</strong> ${beginning}`);
      }
    }
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
