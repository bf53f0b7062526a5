/** @fitness/client as an app gets it: packed, and installed in an empty project. */
import { execFile } from 'node:child_process';
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createServer, request } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { promisify } from 'node:util';
import { launchChromium } from '@fitness/shared/testing/chromium.ts';
import { startPageServer } from '@fitness/shared/testing/web-page.ts';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { nodeBinary, root } from '../../scripts/lib/paths.mjs';
import { runInHermes } from './hermes.ts';
import { baseUrl, PASSWORD, PNG, register } from './support.ts';

const run = promisify(execFile);
const TIMEOUT_MS = 300_000;

/** The oldest supported release of Node. */
const NODE = 'node@20';

const USE = `
import { type Client, createClient, type ErrorCode, type Schemas, unwrap, ValidationError } from '@fitness/client';

export const use = async (baseUrl: string, username: string, password: string) => {
  const client: Client = createClient({ baseUrl, language: 'en' });
  const refused = await client.login({ login: username, password: 'not-the-password' }).catch((error: unknown) => error);
  if (!(refused instanceof ValidationError)) throw refused;
  const code: ErrorCode | undefined = refused.code;
  const signedIn: Schemas['SignedIn'] = await client.login({ login: username, password });
  const picture = Uint8Array.from(atob('iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAQAAAC1HAwCAAAAC0lEQVR42mNk+A8AAQUBAScY42YAAAAASUVORK5CYII='), (character) => character.charCodeAt(0));
  const media = await client.upload(
    new Blob([picture], { type: 'image/png' }),
    { attachable_type: 'App\\\\Models\\\\User', attachable_id: signedIn.user.id },
    { filename: 'portrait.png' },
  );
  const { payment_url } = await unwrap(client.POST('/api/v1/payments/deposit', { body: { amount: 50_000 } }));
  const types: string[] = [];
  for await (const payment of client.list('/api/v1/payments')) types.push(payment.type);
  await client.logout();
  const { response } = await client.GET('/api/v1/auth/me');
  return {
    fields: Object.keys(refused.fields),
    code: code ?? null,
    hasRequestId: refused.requestId !== undefined,
    id: signedIn.user.id,
    media: media.filename,
    hasPaymentUrl: payment_url.startsWith('http'),
    types,
    afterLogout: response.status,
  };
};
`;
const MAIN = `
import { use } from './use.js';
const [baseUrl = '', username = '', password = ''] = process.argv.slice(2);
console.log(JSON.stringify(await use(baseUrl, username, password)));
`;
/** Test code for Hermes: the client sends an app's file, and connections are lost or time out. */
const HERMES_USE = `
import { ApiError, createClient, NetworkError, unwrap, ValidationError } from '@fitness/client';

const thrownBy = (work) => work.then(() => undefined, (error) => error);

export const use = async ({ baseUrl, lossyUrl, silentUrl, username, password, uri }) => {
  const client = createClient({ baseUrl, language: 'en' });
  const refused = await thrownBy(client.login({ login: username, password: 'not-the-password' }));
  const signedIn = await client.login({ login: username, password });
  const silent = createClient({ baseUrl: silentUrl, retries: 1, timeoutMs: 200, uploadTimeoutMs: 600 });
  const late = await thrownBy(silent.gyms.retrieve(1));
  const file = { uri, name: 'portrait.png', type: 'image/png' };
  const fields = { attachable_type: 'App\\\\Models\\\\User', attachable_id: signedIn.user.id };
  const startedAt = Date.now();
  const lateUpload = await thrownBy(silent.upload(file, fields));
  const uploadMs = Date.now() - startedAt;
  const media = await client.upload(file, fields);
  const lossy = createClient({ baseUrl: lossyUrl, token: signedIn.token });
  const { payment_url } = await lossy.deposits.create({ amount: 50_000 });
  await client.deposits.create({ amount: 60_000 });
  const amounts = [];
  for await (const payment of client.list('/api/v1/payments', { per_page: 1 })) amounts.push(payment.amount);
  const missing = await thrownBy(unwrap(client.GET('/api/v1/gyms/{id}', { params: { path: { id: 2147483647 } } })));
  const stopped = new AbortController();
  setTimeout(() => stopped.abort(), 100);
  const left = await thrownBy(createClient({ baseUrl: silentUrl }).gyms.retrieve(1, { signal: stopped.signal }));
  await client.logout();
  const { response } = await client.GET('/api/v1/auth/me');
  return {
    engine: typeof HermesInternal,
    refused: [refused instanceof ValidationError, Object.keys(refused.fields), refused.requestId !== undefined],
    id: signedIn.user.id,
    late: [late instanceof NetworkError, late.isTimeout, lateUpload.isTimeout, uploadMs >= 600],
    media: media.filename,
    hasPaymentUrl: payment_url.startsWith('http'),
    amounts,
    missing: [missing instanceof ApiError, missing.status, missing.code ?? null, missing.requestId !== undefined],
    left: [left instanceof NetworkError, left.message],
    afterLogout: response.status,
  };
};
`;
/** React Native has none of these. */
const REACT_NATIVE = `
for (const name of ['throwIfAborted', 'reason']) delete AbortSignal.prototype[name];
for (const name of ['any', 'timeout']) delete AbortSignal[name];
Object.defineProperty(globalThis, 'crypto', { value: undefined });
`;
const TSCONFIG = {
  compilerOptions: {
    strict: true,
    exactOptionalPropertyTypes: true,
    skipLibCheck: false,
    target: 'es2022',
    lib: ['es2022', 'dom', 'dom.iterable'],
    module: 'nodenext',
    moduleResolution: 'nodenext',
    types: ['node'],
    typeRoots: [join(root, 'node_modules/@types')],
  },
  include: ['*.ts'],
};

let project: string;
beforeAll(async () => {
  project = mkdtempSync(join(tmpdir(), 'app-'));
  const { stdout } = await run(nodeBinary, ['scripts/pack-client.mjs'], { cwd: root });
  const archive = /^Packed (.*)\.$/m.exec(stdout)?.[1] ?? '';
  const files = {
    'package.json': JSON.stringify({ private: true, type: 'module' }),
    'tsconfig.json': JSON.stringify(TSCONFIG),
    'react-native.cjs': REACT_NATIVE,
    'main.ts': MAIN,
    'use.ts': USE,
  };
  for (const [name, text] of Object.entries(files)) writeFileSync(join(project, name), text);
  await run('npm', ['install', '--no-audit', '--no-fund', archive, NODE], { cwd: project });
  await run(nodeBinary, [join(root, 'node_modules/typescript/bin/tsc'), '-p', project]);
}, TIMEOUT_MS);
afterAll(() => rmSync(project, { recursive: true, force: true }));

const expected = (id: number): object => ({
  fields: ['login'],
  code: null,
  hasRequestId: true,
  id,
  media: 'portrait.png',
  hasPaymentUrl: true,
  types: ['deposit'],
  afterLogout: 401,
});

test.each([
  ['Node 20', []],
  ['React Native', ['--require', './react-native.cjs']],
])(
  'the packed client works with the globals of %s',
  async (_name, flags) => {
    const { id, username } = await register();
    const node = join(project, 'node_modules/node/bin/node');
    const args = [...flags, 'main.js', baseUrl(), username, PASSWORD];
    const { stdout } = await run(node, args, { cwd: project });
    expect(JSON.parse(stdout)).toEqual(expected(id));
  },
  TIMEOUT_MS,
);

test(
  'the packed client works in a browser without a bundler',
  async () => {
    const read = (file: string): string => readFileSync(join(project, file), 'utf8');
    const client = 'node_modules/@fitness/client';
    const scripts = Object.fromEntries(
      readdirSync(join(project, client), { recursive: true, encoding: 'utf8' })
        .filter((file) => file.endsWith('.js'))
        .map((file) => [
          `/client/${file}`,
          read(`${client}/${file}`).replace("'openapi-fetch'", "'/openapi-fetch.mjs'"),
        ]),
    );
    const requests = read('node_modules/openapi-fetch/dist/index.mjs');
    const app = read('use.js').replace("'@fitness/client'", "'/client/index.js'");
    const server = await startPageServer({ ...scripts, '/openapi-fetch.mjs': requests, '/use.js': app });
    const browser = await launchChromium();
    try {
      const page = await browser.newPage();
      await page.goto(server.origin);
      const { id, username } = await register();
      const answer = page.evaluate(
        async ([path, ...input]) => {
          const { use } = await import(path);
          return use(...input);
        },
        ['/use.js', baseUrl(), username, PASSWORD] as const,
      );
      expect(await answer).toEqual(expected(id));
    } finally {
      await browser.close();
      await server.close();
    }
  },
  TIMEOUT_MS,
);

test('npm pack of the sources fails and names the command that packs the built client', async () => {
  const pack = run('npm', ['pack', '--dry-run'], { cwd: join(root, 'packages/client') });
  await expect(pack).rejects.toMatchObject({ stderr: expect.stringContaining('npm run client:pack') });
});

/** Drops the first connection of a POST and forwards the others. Requests to /silent get no response. */
const startLossyServer = async () => {
  const methods: string[] = [];
  const server = createServer((incoming, outgoing) => {
    if (incoming.url?.startsWith('/silent') === true) return;
    methods.push(incoming.method ?? '');
    if (methods.length === 1) {
      incoming.socket.destroy();
      return;
    }
    const { method, headers } = incoming;
    const forwarded = request(`${baseUrl()}${incoming.url}`, { method, headers }, (response) => {
      outgoing.writeHead(response.statusCode ?? 0, response.headers);
      response.pipe(outgoing);
    });
    incoming.pipe(forwarded);
  });
  await new Promise<void>((resolve) => {
    server.listen(0, '127.0.0.1', resolve);
  });
  const close = (): void => {
    server.closeAllConnections();
    server.close();
  };
  return { origin: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, methods, close };
};

test(
  'the packed client works in Hermes with the globals that React Native supplies',
  async () => {
    const { id, username } = await register();
    const picture = join(project, 'portrait.png');
    writeFileSync(picture, PNG);
    const lossy = await startLossyServer();
    try {
      const result = await runInHermes(project, HERMES_USE, {
        baseUrl: baseUrl(),
        lossyUrl: lossy.origin,
        silentUrl: `${lossy.origin}/silent`,
        username,
        password: PASSWORD,
        uri: pathToFileURL(picture).href,
      });
      expect(result).toEqual({
        engine: 'object',
        refused: [true, ['login'], true],
        id,
        late: [true, true, true, true],
        media: 'portrait.png',
        hasPaymentUrl: true,
        amounts: [60_000, 50_000],
        missing: [true, 404, null, true],
        left: [false, 'The request was aborted.'],
        afterLogout: 401,
      });
      expect(lossy.methods).toEqual(['POST', 'POST']);
    } finally {
      lossy.close();
    }
  },
  TIMEOUT_MS,
);
