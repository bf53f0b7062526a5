/** `/account-deletion` with the real services, used like a browser without scripts. */
import { parseTimestamp } from '@fitness/shared/kernel/clock.ts';
import { formatInstant } from '@fitness/shared/kernel/i18n/translate.ts';
import { type Browser, type BrowserPage, createBrowser, formOf } from '@fitness/shared/testing/browser.ts';
import { totpOf } from '@fitness/shared/testing/totp.ts';
import { describe, expect, test } from '@jest/globals';
import {
  type Account,
  api,
  arm,
  baseUrl,
  deposit,
  expectStatus,
  login,
  newestCode,
  PASSWORD,
  register,
  smsOf,
} from './support.ts';

const PATH = '/account-deletion';

const browse = (): Browser => createBrowser(baseUrl());
/** Submits a form and follows at most one redirect. */
const send = async (
  browser: Browser,
  page: BrowserPage,
  action: string,
  fields: Record<string, string> = {},
): Promise<BrowserPage> => {
  const answer = await browser.submit(page, action, fields);
  return answer.location === undefined ? answer : browser.get(answer.location.href);
};
const signIn = async (browser: Browser, account: Account): Promise<BrowserPage> =>
  send(browser, await browser.get(PATH), 'login', { login: account.username, password: PASSWORD });
const buttons = ({ html }: BrowserPage): string[] => formOf(html).buttons;
const isSignedIn = ({ cookies }: Browser): boolean =>
  [...cookies.values()].some(({ value }) => value.startsWith('user.'));
const confirm = async (browser: Browser, page: BrowserPage, account: Account): Promise<BrowserPage> =>
  send(browser, page, 'confirm', { password: PASSWORD, code: await newestCode(account.phone) });

/** @returns the recovery codes */
const setUpSecondFactor = async ({ token }: Account): Promise<string[]> => {
  const call = async (body: unknown) =>
    expectStatus(await api('POST', '/auth/second-factor', { token, body }), 200).body;
  const { secret } = await call({ current_password: PASSWORD });
  return (await call({ totp: totpOf(secret, new Date()) })).recovery_codes;
};

describe('accounts on the page', () => {
  test('an account is scheduled for deletion, shown with the date after a sign-in, and restored', async () => {
    const account = await register();
    const browser = browse();
    const overview = await signIn(browser, account);
    expect([overview.status, buttons(overview)]).toEqual([200, ['send_code', 'sign_out']]);
    const form = await send(browser, overview, 'send_code', { password: PASSWORD });
    expect([form.status, buttons(form)]).toEqual([200, ['confirm', 'keep']]);
    expect(await smsOf(account.phone)).toHaveLength(1);
    const scheduled = await confirm(browser, form, account);
    expect([scheduled.status, isSignedIn(browser)]).toEqual([200, false]);
    expect((await api('GET', '/auth/me', { token: account.token })).status).toBe(401);
    const { user } = expectStatus(await login(account.username), 200).body;
    const date = formatInstant('en', parseTimestamp(user.deletion_scheduled_at));
    expect(scheduled.html).toContain(date);

    const pending = await signIn(browser, account);
    expect(pending.html).toContain(date);
    expect(buttons(pending)).toEqual(['cancel', 'sign_out']);
    const cancelled = await send(browser, pending, 'cancel');
    expect([cancelled.status, isSignedIn(browser)]).toEqual([200, false]);
    const restored = expectStatus(await login(account.username), 200).body;
    expect(restored.user.deletion_scheduled_at).toBeNull();
    // The page has ended its own session. The sign-in above and this test's two sign-ins remain.
    const sessions = await api('GET', '/auth/sessions', { token: restored.token });
    expect(expectStatus(sessions, 200).body.data).toHaveLength(2);
  });

  test('a blocked account sees why and what to do, before and after a code is sent', async () => {
    const account = await register();
    const browser = browse();
    const overview = await signIn(browser, account);
    const form = await send(browser, overview, 'send_code', { password: PASSWORD });
    await deposit(account.token, 5_000);
    const blocked = await confirm(browser, form, account);
    expect([blocked.status, buttons(blocked)]).toEqual([409, ['sign_out']]);
    expect(blocked.html).toContain('Your wallet balance is 5,000 Tooman.');
    expect(blocked.html).toContain('Withdraw the money');
    expect((await browser.get(PATH)).html).toContain('Your wallet balance is 5,000 Tooman.');
    expect(await smsOf(account.phone)).toHaveLength(1);
  });

  test('an account with a second factor must enter its code', async () => {
    const account = await register();
    const [recoveryCode = ''] = await setUpSecondFactor(account);
    const browser = browse();
    const codePage = await signIn(browser, account);
    expect([codePage.status, buttons(codePage)]).toEqual([200, ['code']]);
    const wrong = await send(browser, codePage, 'code', { totp: '000000x' });
    expect([wrong.status, buttons(wrong)]).toEqual([422, ['code']]);
    const overview = await send(browser, wrong, 'code', { totp: recoveryCode });
    expect([overview.status, buttons(overview)]).toEqual([200, ['send_code', 'sign_out']]);
  });
});

describe('refusals on the page', () => {
  test('the page responds the same to a wrong password and an unknown account', async () => {
    const account = await register();
    const refusalOf = async (name: string): Promise<string> => {
      const browser = browse();
      const page = await send(browser, await browser.get(PATH), 'login', { login: name, password: 'wrong' });
      expect(page.status).toBe(422);
      return page.html.replace(name, '').replace(/name="csrf" value="[^"]*"/, '');
    };
    expect(await refusalOf(account.username)).toBe(await refusalOf(`${account.username}x`));
  });

  test('a wrong password or code schedules nothing, and the right ones work afterwards', async () => {
    const account = await register();
    const browser = browse();
    const overview = await signIn(browser, account);
    const wrongPassword = await send(browser, overview, 'send_code', { password: 'wrong' });
    expect([wrongPassword.status, buttons(wrongPassword)]).toEqual([422, ['send_code', 'sign_out']]);
    expect(await smsOf(account.phone)).toHaveLength(0);
    const form = await send(browser, wrongPassword, 'send_code', { password: PASSWORD });
    for (const code of ['', '12345']) {
      const refused = await send(browser, form, 'confirm', { password: PASSWORD, code });
      expect([code, refused.status, buttons(refused)]).toEqual([code, 422, ['confirm', 'keep']]);
      expect(refused.html).toContain('Enter the 6-digit code from the SMS.');
    }
    // An empty code must not start the first phase again.
    expect(await smsOf(account.phone)).toHaveLength(1);
    expect((await confirm(browser, form, account)).status).toBe(200);
  });

  test('calls past the budget shared by page and API are rejected with 429 and the time to wait', async () => {
    const account = await register();
    const browser = browse();
    const overview = await signIn(browser, account);
    const wrong = { body: { current_password: 'wrong' } };
    for (let calls = 0; calls < 5; calls += 1) expect((await arm(account, wrong)).status).toBe(422);
    const page = await send(browser, overview, 'send_code', { password: PASSWORD });
    expect([page.status, buttons(page)]).toEqual([429, ['send_code', 'sign_out']]);
    expect(Number(page.headers.get('retry-after'))).toBeGreaterThan(0);
    expect(await smsOf(account.phone)).toHaveLength(0);
  });

  test('a revoked session leads to the sign-in', async () => {
    const account = await register();
    const browser = browse();
    const overview = await signIn(browser, account);
    const { data } = expectStatus(await api('GET', '/auth/sessions', { token: account.token }), 200).body;
    for (const { id } of data as { id: number }[]) {
      await api('DELETE', `/auth/sessions/${id}`, { token: account.token });
    }
    const over = await send(browser, overview, 'send_code', { password: PASSWORD });
    expect([over.status, buttons(over)]).toEqual([401, ['login']]);
    expect(await smsOf(account.phone)).toHaveLength(0);
  });
});

test('two browsers that confirm at once schedule one deletion', async () => {
  const account = await register();
  const [first, second] = [browse(), browse()];
  const form = await send(first, await signIn(first, account), 'send_code', { password: PASSWORD });
  await signIn(second, account);
  const other = await second.get(`${PATH}?step=code`);
  const answers = await Promise.all([confirm(first, form, account), confirm(second, other, account)]);
  const [done, refused] = answers.map(({ status }) => status).sort();
  expect(done).toBe(200);
  expect([401, 422]).toContain(refused);
});
