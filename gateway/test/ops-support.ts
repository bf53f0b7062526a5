/** `/ops` in a browser without scripts, with stubs of the services. */
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { UserCaller } from '@fitness/shared/kernel/caller.ts';
import { PERMISSIONS, type Permission } from '@fitness/shared/kernel/permissions.ts';
import { type Browser, type BrowserPage, createBrowser } from '@fitness/shared/testing/browser.ts';
import { caller } from '@fitness/shared/testing/harness.ts';
import { ManualClock } from '@fitness/shared/testing/manual-clock.ts';
import { afterAll, beforeAll, beforeEach } from '@jest/globals';
import { SERVICES, type Service } from '../src/request/routes.ts';
import { type Harness, startHarness } from './support.ts';

export const PATH = '/ops';
export const TOKEN = 'fps_operator';
const POLL_MS = 40;

export let gateway: Harness;
export const clock = new ManualClock();

type Reply = { status: number; body?: unknown };
/** Answers by service, method and path. */
export let replies: Map<string, Reply>;
/** Requests to internal and public routes, with their bodies: `identity POST /session-limit {…}`. */
export let calls: string[];

export const STATUS = {
  outbox: { waiting: 2, lag_s: 7 },
  queues: { waiting: 1, retrying: 3, dead_letters: 0 },
};
export const WITHDRAWAL = {
  id: 31,
  type: 'withdrawal',
  user_id: 5,
  is_done: false,
  rejected_at: null as string | null,
  user: {
    id: 5,
    username: 'sara',
    first_name: 'Sara',
    last_name: 'Ahmadi',
    created_at: '2026-01-01 00:00:00',
  },
  amount: 50_000,
  description: null,
  meta: { bank_account_number: 'IR062960000000100324200001' },
  user_balance: 1_000,
  created_at: '2026-01-01 00:00:00',
};

export const operatorOf = (
  permissions: readonly Permission[],
  more: Partial<UserCaller> = {},
): UserCaller => ({
  ...caller(9, permissions),
  hasSecondFactor: true,
  ...more,
});

const answerAs =
  (service: Service, prefix: string) =>
  async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const path = (request.url ?? '').replace(prefix, '').split('?')[0];
    const text = Buffer.concat(await request.toArray()).toString();
    calls.push(`${service} ${request.method} ${path} ${text}`.trim());
    const reply = replies.get(`${request.method} ${path}`) ?? { status: 404, body: { message: 'no' } };
    response.writeHead(reply.status, { 'content-type': 'application/json' });
    response.end(reply.body === undefined ? undefined : JSON.stringify(reply.body));
  };

/** Sets up the gateway and the stubs for all tests of a file. */
export const arrangeOps = (): void => {
  beforeAll(async () => {
    gateway = await startHarness({}, { livePollMs: POLL_MS, clock });
  });
  afterAll(() => gateway.close());
  beforeEach(() => {
    gateway.reset();
    calls = [];
    replies = new Map<string, Reply>([
      ['POST /auth/login', { status: 200, body: { token: TOKEN } }],
      ['POST /auth/logout', { status: 204 }],
      ['GET /auth/me', { status: 200, body: { user: { username: 'the-operator' } } }],
      ['POST /session-limit', { status: 204 }],
      ['GET /operations', { status: 200, body: STATUS }],
      [
        'GET /payments',
        { status: 200, body: { data: [WITHDRAWAL], meta: { current_page: 1, last_page: 1 } } },
      ],
      ['GET /payments/31', { status: 200, body: { payment: WITHDRAWAL } }],
      ['POST /payments/31/pay', { status: 200, body: {} }],
      ['POST /payments/31/reject', { status: 200, body: {} }],
    ]);
    for (const service of SERVICES) {
      gateway.upstreams[service].handler = answerAs(service, '/api/v1');
      gateway.upstreams[service].internal = answerAs(service, '/internal');
    }
    gateway.tokens.set(TOKEN, operatorOf(PERMISSIONS));
  });
};

export const browse = (): Browser => createBrowser(gateway.url);
export const follow = (browser: Browser, page: BrowserPage): Promise<BrowserPage> => {
  if (page.location === undefined) throw new Error(`no redirect: ${page.status} ${page.html}`);
  return browser.get(page.location.pathname + page.location.search);
};
export const enter = async (browser: Browser): Promise<BrowserPage> => {
  const page = await browser.get(PATH);
  return browser.submit(page, 'login', { login: 'op', password: 'secret-password' });
};
/** A browser with the cookie of a session that {@link enter} has begun. */
export const signIn = async (token = TOKEN): Promise<Browser> => {
  const browser = browse();
  browser.cookies.set('__Host-ops /', { value: `user.${token}`, path: '/' });
  return browser;
};
/** Submits the first form of the page that has this button, with its hidden fields. */
export const submit = (
  browser: Browser,
  page: BrowserPage,
  button: string,
  fields: Record<string, string> = {},
): Promise<BrowserPage> => {
  const forms = page.html.split('<form ').slice(1);
  const form = forms.find((text) => text.includes(`value="${button}"`)) ?? '';
  const action = /action="([^"]*)"/.exec(form)?.[1]?.replaceAll('&amp;', '&') ?? '';
  const hidden = [...form.matchAll(/<input type="hidden" name="([^"]*)" value="([^"]*)">/g)];
  const all = Object.fromEntries(hidden.map(([, name, value]) => [name, value ?? '']));
  return browser.post(action, { ...all, ...fields, action: button });
};

/** Submits both steps of a decision. */
export const decide = async (
  browser: Browser,
  page: BrowserPage,
  name: string,
  fields: Record<string, string> = {},
): Promise<BrowserPage> => submit(browser, await submit(browser, page, name), `confirm_${name}`, fields);
