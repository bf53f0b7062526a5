import { PERMISSIONS } from '@fitness/shared/kernel/permissions.ts';
import { createBrowser } from '@fitness/shared/testing/browser.ts';
import { describe, expect, test } from '@jest/globals';
import { EACH_KIND } from './access-callers.ts';
import { checkAccess, compare, LOGOUT } from './access-checks.ts';
import { type Page, ROUTES } from './access-table.ts';
import { newOperator } from './ops-scene.ts';
import { baseUrl, PASSWORD, register } from './support.ts';

describe('docs/access.md, for each kind of token', () => checkAccess(EACH_KIND));

/** Signs in at a page and returns the token in its cookie. */
const sessionAt = async (page: Page, fields: Record<string, string>): Promise<string> => {
  const browser = createBrowser(baseUrl());
  const form = await browser.get(page);
  const { totp, ...typed } = fields;
  const next = await browser.submit(form, 'login', { password: PASSWORD, ...typed });
  if (totp !== undefined) await browser.submit(next, 'code', { totp });
  const [cookie] = [...browser.cookies.values()];
  const token = /^user\.(.+)$/.exec(cookie?.value ?? '')?.[1];
  if (token === undefined) throw new Error(`no session at ${page}`);
  return token;
};

describe('docs/access.md, for the session of a page', () => {
  const checks: [Page, () => Promise<string>][] = [
    [
      '/ops',
      async () => {
        const { username, recoveryCodes } = await newOperator();
        return sessionAt('/ops', { login: username, totp: recoveryCodes[0] ?? '' });
      },
    ],
    ['/account-deletion', async () => sessionAt('/account-deletion', { login: (await register()).username })],
  ];

  test.each(checks)('the session of %s may call exactly what the page calls', async (page, signIn) => {
    const token = await signIn();
    const checked = {
      kind: page,
      held: new Set(PERMISSIONS),
      withheld: new Set<string>(),
      token,
      name: page,
    };
    const rows = ROUTES.filter(({ route }) => route !== LOGOUT);
    expect(rows.filter(({ opensTo }) => opensTo.has(page)).length).toBeGreaterThan(2);
    expect(await compare(rows, checked)).toEqual([]);
    const ends = ROUTES.filter(({ route }) => route === LOGOUT);
    expect(await compare(ends, checked)).toEqual([]);
  });
});
