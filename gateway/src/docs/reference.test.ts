import { runInNewContext } from 'node:vm';
import { expect, test } from '@jest/globals';
import { DEMO_ACCOUNTS } from '../demo/people.ts';
import { initialiseScript, readScalar } from './reference.ts';

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

/** Runs the script of the page; `requests` are what it sends, `tokens` what it gives to the reference. */
const load = (demoAccounts: typeof DEMO_ACCOUNTS) => {
  const bar = element();
  const requests: string[] = [];
  const tokens: string[] = [];
  const take = (configuration: { authentication: { securitySchemes: { bearer: { token: string } } } }) =>
    tokens.push(configuration.authentication.securitySchemes.bearer.token);
  runInNewContext(initialiseScript({ documentUrl: '/api/v1/openapi.json', demoAccounts }), {
    document: { getElementById: () => bar, createElement: element },
    Scalar: {
      createApiReference: (_target: string, configuration: Parameters<typeof take>[0]) => {
        take(configuration);
        return { updateConfiguration: take };
      },
    },
    fetch: async (url: string, { body }: { body: string }) => {
      requests.push(`${url} ${body}`);
      return { json: async () => ({ token: 'fps_1' }) };
    },
  });
  return { bar, requests, tokens };
};

test('without the demo data there is no account to sign in as', () => {
  const { bar, tokens } = load([]);
  expect([bar.hidden, tokens]).toEqual([true, ['']]);
});

test('a demo account signs in, and the reference gets its token', async () => {
  const { bar, requests, tokens } = load(DEMO_ACCOUNTS);
  const [, ...buttons] = bar.children;
  expect([bar.hidden, buttons.map(({ textContent }) => textContent)]).toEqual([
    false,
    DEMO_ACCOUNTS.map(({ username }) => username),
  ]);
  await buttons[1]?.click();
  const { username, password } = DEMO_ACCOUNTS[1] ?? {};
  expect(requests).toEqual([`/api/v1/auth/login ${JSON.stringify({ login: username, password })}`]);
  expect(tokens).toEqual(['', 'fps_1']);
});

test('the package brings the script of the reference', async () => {
  expect(await readScalar()).toContain('createApiReference');
});
