/** @fitness/client as an app gets it: packed, and installed in an empty project. */
import { execFile } from 'node:child_process';
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { launchChromium } from '@fitness/shared/testing/chromium.ts';
import { startPageServer } from '@fitness/shared/testing/web-page.ts';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { nodeBinary, root } from '../../scripts/lib/paths.mjs';
import { baseUrl, PASSWORD, register } from './support.ts';

const run = promisify(execFile);
const TIMEOUT_MS = 300_000;

/** The oldest release of Node that the package is for. */
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
/** React Native has neither of these. */
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
  'works with what %s has',
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
  'works in a browser, without a bundler',
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
        async ([path, ...given]) => {
          const { use } = await import(path);
          return use(...given);
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
