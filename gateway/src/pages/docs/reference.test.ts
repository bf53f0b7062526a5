import { runInNewContext } from 'node:vm';
import { DEMO_ACCOUNTS } from '@fitness/demo/people.ts';
import { expect, test } from '@jest/globals';
import { initializeScript, readScalar } from './reference.ts';

interface Element {
  hidden: boolean;
  textContent: string;
  children: Element[];
  click(): Promise<void>;
}

const element = (): Element & Record<string, unknown> => {
  const children: Element[] = [];
  let click = async (): Promise<void> => undefined;
  return {
    hidden: true,
    textContent: '',
    children,
    append: (child: Element) => children.push(child),
    setAttribute: () => undefined,
    addEventListener: (_name: string, listener: () => Promise<void>) => {
      click = listener;
    },
    querySelectorAll: () => [],
    click: () => click(),
  };
};

interface Configuration {
  content: unknown;
  authentication: { securitySchemes: { bearer: { token: string } } };
}

const DOCUMENT = { info: { title: 'x', version: '1' }, tags: [{ name: 'Gyms' }], paths: {} };

/** Runs the script of the page. `requests` are its sign-in requests, and `shown` is each configuration passed to the reference. */
const load = async (demoAccounts: typeof DEMO_ACCOUNTS) => {
  const bar = element();
  const requests: string[] = [];
  const documents: string[] = [];
  const shown: Configuration[] = [];
  const take = (configuration: Configuration) => shown.push(structuredClone(configuration));
  const script = initializeScript({ documentUrl: '/api/v1/openapi.json', demoAccounts });
  await runInNewContext(`${script};shown`, {
    document: { getElementById: () => bar, createElement: element },
    Scalar: {
      createApiReference: (_target: string, configuration: Configuration) => {
        take(configuration);
        return { updateConfiguration: take };
      },
    },
    fetch: async (url: string, init?: { body: string }) => {
      if (init === undefined) documents.push(url);
      else requests.push(`${url} ${init.body}`);
      return { ok: true, json: async () => (init === undefined ? DOCUMENT : { token: 'fps_1' }) };
    },
  });
  const tokens = () => shown.map(({ authentication }) => authentication.securitySchemes.bearer.token);
  return { bar, requests, documents, shown, tokens };
};

test('the reference offers no demo accounts without the demo data', async () => {
  const { bar, tokens } = await load([]);
  expect([bar.hidden, tokens()]).toEqual([true, ['']]);
});

test('a demo account signs in, and the reference gets its token', async () => {
  const { bar, requests, tokens } = await load(DEMO_ACCOUNTS);
  const [, ...buttons] = bar.children;
  expect([bar.hidden, buttons.map(({ textContent }) => textContent)]).toEqual([
    false,
    DEMO_ACCOUNTS.map(({ username }) => username),
  ]);
  await buttons[1]?.click();
  const { username, password } = DEMO_ACCOUNTS[1] ?? {};
  expect(requests).toEqual([`/api/v1/auth/login ${JSON.stringify({ login: username, password })}`]);
  expect(tokens()).toEqual(['', 'fps_1']);
});

test('the reference shows the document', async () => {
  const { shown, bar, documents } = await load(DEMO_ACCOUNTS);
  expect([documents, shown[0]?.content]).toEqual([['/api/v1/openapi.json'], DOCUMENT]);
  expect(bar.children.length).toBe(7);
});

test('the Scalar package contains the script of the reference', async () => {
  expect(await readScalar()).toContain('createApiReference');
});
