/** Roles and second factors on `/ops`, where every change is shown before it is made. */
import { PERMISSIONS, type Permission } from '@fitness/shared/kernel/permissions.ts';
import type { Browser, BrowserPage } from '@fitness/shared/testing/browser.ts';
import { beforeEach, expect, test } from '@jest/globals';
import {
  arrangeOps,
  calls,
  gateway,
  operatorOf,
  PATH,
  replies,
  signIn,
  submit,
  TOKEN,
} from './ops-support.ts';

arrangeOps();

const OPERATOR: Permission[] = ['users.view_all', 'users.update_any', 'audit.view'];
const ROLE = { id: 7, name: 'reviewer', title: 'Reviewer', permissions: ['gyms.view_all', 'audit.view'] };
const ROLES = `${PATH}/roles`;
const list = (role: typeof ROLE) => ({ status: 200, body: { data: [role], meta: {} } });
const puts = (): string[] => calls.filter((call) => call.includes('PUT /roles'));

beforeEach(() => {
  replies.set('GET /roles', list(ROLE));
  replies.set('PUT /roles/7', { status: 200, body: { data: ROLE } });
});

/** Submits the form of the role with these boxes checked. */
const change = async (...permissions: string[]): Promise<[Browser, BrowserPage]> => {
  const browser = await signIn();
  const page = await browser.get(`${ROLES}?id=7`);
  const fields = Object.fromEntries(permissions.map((name) => [`permission.${name}`, 'on']));
  return [browser, await submit(browser, page, 'change', fields)];
};

test('every permission has a box, and the permissions of the role are checked', async () => {
  const { html } = await (await signIn()).get(`${ROLES}?id=7`);
  const boxes = [...html.matchAll(/name="permission\.([a-z_.]+)" value="on"( checked)?/g)];
  expect(boxes.map(([, name]) => name)).toEqual(PERMISSIONS);
  expect(boxes.flatMap(([, name, checked]) => (checked === undefined ? [] : [name])).sort()).toEqual(
    [...ROLE.permissions].sort(),
  );
});

test.each([
  ['en', 'Operator', 'Accounts and roles', 'Edit any account'],
  ['fa', 'اپراتور', 'حساب‌ها و نقش‌ها', 'ویرایش هر حسابی'],
])('in %s, a role, its groups and its permissions have names', async (lang, title, group, text) => {
  replies.set('GET /roles', list({ ...ROLE, name: 'operator', title: 'Operator' }));
  const browser = await signIn();
  const { html } = await browser.get(`${ROLES}?id=7&lang=${lang}`);
  expect(html).toContain(`<h2>${title}</h2>`);
  expect(html).toContain(`<legend>${group}</legend>`);
  expect(html).toMatch(new RegExp(`${text}<br><span class="code quiet" dir="ltr">users\\.update_any<`));
  // A different title was chosen by an operator.
  replies.set('GET /roles', list({ ...ROLE, name: 'operator', title: 'Support' }));
  expect((await browser.get(`${ROLES}?id=7&lang=${lang}`)).html).toContain('<h2>Support</h2>');
});

test('a change of a role is shown first, and made by a second form', async () => {
  const [browser, page] = await change('gyms.view_all', 'users.delete');
  expect([page.status, puts()]).toEqual([200, []]);
  expect(page.html).toMatch(/<ul class="can"><li><span>Delete any account<br><span[^>]*>users\.delete</);
  expect(page.html).toMatch(/<ul class="cannot"><li><span>See the audit log<br><span[^>]*>audit\.view</);
  expect(page.html).toContain('<h2>Change the Reviewer role?</h2>');
  expect(page.html).toContain('>Add 1 and remove 1 permissions</button>');
  const done = await submit(browser, page, 'confirm_change');
  expect([done.status, done.location?.search]).toEqual([303, '?lang=en&id=7&done=saved']);
  expect(puts()).toEqual(['identity PUT /roles/7 {"permissions":["users.delete","gyms.view_all"]}']);
});

test('a form without changes has nothing to confirm', async () => {
  const [, page] = await change(...ROLE.permissions);
  expect([page.html.includes('Nothing would change.'), page.html.includes('value="confirm_change"')]).toEqual(
    [true, false],
  );
});

test('another operator’s change in between is shown before it is overwritten', async () => {
  const [browser, page] = await change('gyms.view_all');
  replies.set('GET /roles', list({ ...ROLE, permissions: ['gyms.view_all', 'payments.view_all'] }));
  const again = await submit(browser, page, 'confirm_change');
  expect([again.status, puts()]).toEqual([200, []]);
  expect(again.html).toMatch(/<ul class="cannot"><li><span>[^<]*<br><span[^>]*>payments\.view_all</);
  expect(again.html).toContain('>Remove 1 permission</button>');
  expect((await submit(browser, again, 'confirm_change')).status).toBe(303);
});

test.each([
  [403, { message: 'You lack a permission of this role.' }, 'You lack a permission of this role.'],
  [409, { message: 'Somebody must keep it.' }, 'Somebody must keep it.'],
  [422, { errors: { 'permissions.0': ['It is unknown.'] } }, 'It is unknown.'],
])('a %d is reported at the permissions, which keep the selection', async (status, body, text) => {
  replies.set('PUT /roles/7', { status, body });
  const [browser, page] = await change('users.delete');
  const refused = await submit(browser, page, 'confirm_change');
  expect(refused.status).toBe(status);
  expect(refused.html.split(text)).toHaveLength(2);
  expect(refused.html).toContain(`id="permissions-problem" role="alert">${text}`);
  expect(refused.html).toContain('aria-describedby="permissions-problem"');
  expect(refused.html).toContain('name="permission.users.delete" value="on" checked');
  expect(refused.html).not.toContain('name="permission.audit.view" value="on" checked');
});

test('a role does not change without its CSRF token, after its deletion, or without roles.manage', async () => {
  const [browser, page] = await change('users.delete');
  expect((await submit(browser, page, 'confirm_change', { csrf: 'wrong' })).status).toBe(403);
  replies.set('GET /roles', { status: 200, body: { data: [], meta: {} } });
  expect((await submit(browser, page, 'confirm_change')).status).toBe(404);
  gateway.tokens.set(TOKEN, operatorOf(['audit.view']));
  expect((await submit(browser, page, 'confirm_change')).status).toBe(403);
  expect(puts()).toEqual([]);
});

test('a second factor is removed by a second form, which shows the account', async () => {
  const user = { id: 5, username: 'sara', email: 'sara@example.com', created_at: '2026-01-01 00:00:00' };
  replies.set('GET /users/5', { status: 200, body: { user } });
  replies.set('DELETE /users/5/second-factor', { status: 204 });
  const removals = (): string[] => calls.filter((call) => call.includes('DELETE'));
  const browser = await signIn();
  const page = await browser.get(`${PATH}/users?id=5`);
  expect(page.html).toMatch(/<button name="action" value="remove_second_factor" class="danger">/);
  const shown = await submit(browser, page, 'remove_second_factor');
  expect([shown.status, removals()]).toEqual([200, []]);
  expect(shown.html).toContain('sara@example.com');
  expect((await submit(browser, shown, 'confirm_remove_second_factor', { csrf: 'wrong' })).status).toBe(403);
  expect(removals()).toEqual([]);
  const done = await submit(browser, shown, 'confirm_remove_second_factor');
  expect([done.status, done.location?.search]).toEqual([303, '?lang=en&id=5&done=removed']);
  expect(removals()).toEqual(['identity DELETE /users/5/second-factor']);
});

test.each<[string, number, string[], Permission[], boolean]>([
  ['a member', 5, ['posts.view'], OPERATOR, true],
  ['another operator', 5, ['posts.view', 'audit.view'], OPERATOR, false],
  ['another operator to a manager of roles', 5, ['audit.view'], [...OPERATOR, 'roles.manage'], true],
  ['the operator themself', 9, ['audit.view'], [...OPERATOR, 'roles.manage'], false],
])(
  'the removal of the second factor of %s is offered if the API allows it',
  async (_whose, id, permissions, operatorPermissions, isOffered) => {
    const roles = [{ id: 2, name: 'x', title: 'x', permissions }];
    const user = { id, username: 'sara', created_at: '2026-01-01 00:00:00', roles };
    replies.set(`GET /users/${id}`, { status: 200, body: { user } });
    gateway.tokens.set(TOKEN, operatorOf(operatorPermissions));
    const { status, html } = await (await signIn()).get(`${PATH}/users?id=${id}`);
    expect([status, html.includes('remove_second_factor')]).toEqual([200, isOffered]);
  },
);

test('the second factor of an account that no longer exists is not removed', async () => {
  replies.set('GET /users/5', { status: 200, body: { user: { id: 5, created_at: '2026-01-01 00:00:00' } } });
  const browser = await signIn();
  const page = await browser.get(`${PATH}/users?id=5`);
  replies.delete('GET /users/5');
  expect((await submit(browser, page, 'remove_second_factor')).status).toBe(404);
});

test('a user has a box for every role, including roles on a second page', async () => {
  const answer = gateway.upstreams.identity.handler;
  gateway.upstreams.identity.handler = async (request, response) => {
    if (request.url?.startsWith('/api/v1/roles?') !== true) return answer?.(request, response);
    const page = Number(new URL(request.url, 'http://x').searchParams.get('page') ?? 1);
    response.setHeader('content-type', 'application/json');
    response.end(
      JSON.stringify({ data: [{ ...ROLE, id: page }], meta: { current_page: page, last_page: 2 } }),
    );
  };
  const user = { id: 5, username: 'sara', created_at: '2026-01-01 00:00:00', roles: [{ id: 2, title: 'x' }] };
  replies.set('GET /users/5', { status: 200, body: { user } });
  const { html } = await (await signIn()).get(`${PATH}/users?id=5`);
  expect(html).toMatch(/name="role_1" value="on">/);
  expect(html).toMatch(/name="role_2" value="on" checked>/);
});
