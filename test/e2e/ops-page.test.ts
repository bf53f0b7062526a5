/** `/ops` with the real services, used like a browser without scripts. */
import { createHash } from 'node:crypto';
import { type Browser, type BrowserPage, createBrowser } from '@fitness/shared/testing/browser.ts';
import { totpOf } from '@fitness/shared/testing/totp.ts';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import {
  busyMember,
  deadLetter,
  disputedDeposit,
  dueRefund,
  gymReviewers,
  gymWithLicense,
  newOperator,
  type OpsOperator,
  pendingWithdrawal,
  removeGymReviewers,
  uploadLicense,
} from './ops-scene.ts';
import {
  administratorToken,
  api,
  baseUrl,
  expectStatus,
  PASSWORD,
  register,
  scheduleDeletion,
  tokenOf,
} from './support.ts';

const MEMBER_ROLE = 1;

let operator: OpsOperator;
let browser: Browser;
beforeAll(async () => {
  operator = await newOperator();
  browser = createBrowser(baseUrl());
  await signIn(browser);
});
afterAll(removeGymReviewers);

const signIn = async (visitor: Browser, account = operator): Promise<BrowserPage> => {
  const totp = account.recoveryCodes.pop() ?? '';
  const fields = { login: account.username, password: PASSWORD };
  const step = await visitor.submit(await visitor.get('/ops'), 'login', fields);
  expect([step.status, step.html.includes(PASSWORD)]).toEqual([200, false]);
  const page = await visitor.submit(step, 'code', { totp });
  if (page.location === undefined) throw new Error(`log-in: ${page.status} ${page.html}`);
  return visitor.get(page.location.href);
};

/** Submits the form that contains `marker` and the button. */
const submit = (
  page: BrowserPage,
  button: string,
  marker: string,
  fields: Record<string, string> = {},
  visitor = browser,
): Promise<BrowserPage> => {
  // What follows a form belongs to the next row.
  const forms = page.html.split('<form ').map((text) => text.split('</form>')[0] ?? '');
  const form = forms.find((text) => text.includes(`value="${button}"`) && text.includes(marker));
  if (form === undefined) throw new Error(`no form with ${button} and ${marker}: ${page.html}`);
  const action = /action="([^"]*)"/.exec(form)?.[1]?.replaceAll('&amp;', '&') ?? '';
  const hidden = [...form.matchAll(/<input type="hidden" name="([^"]*)" value="([^"]*)">/g)];
  const all = Object.fromEntries(hidden.map(([, name, value]) => [name, value ?? '']));
  return visitor.post(action, { ...all, ...fields, action: button });
};

/** Both steps of a decision. */
const decide = async (
  page: BrowserPage,
  name: string,
  marker: string,
  fields: Record<string, string> = {},
  chosen: Record<string, string> = {},
): Promise<BrowserPage> => submit(await submit(page, name, marker, chosen), `confirm_${name}`, '', fields);

const audited = async (action: string): Promise<{ actor_id: number; subject_id: number | null }[]> => {
  const { token } = operator;
  const path = `/audit-log?action=${action}&actor_id=${operator.id}`;
  return expectStatus(await api('GET', path, { token }), 200).body.data;
};

const paymentOf = async (id: number) =>
  expectStatus(await api('GET', `/payments/${id}`, { token: operator.token }), 200).body.payment;

test("the page's session is in the list of sessions and is revoked at once", async () => {
  const other = createBrowser(baseUrl());
  await signIn(other);
  const { token } = operator;
  // The newest session is first.
  const [{ id, current }] = expectStatus(await api('GET', '/auth/sessions', { token }), 200).body.data;
  expect(current).toBe(false);
  expect((await other.get('/ops')).status).toBe(200);
  expectStatus(await api('DELETE', `/auth/sessions/${id}`, { token }), 204);
  expect((await other.get('/ops')).status).toBe(401);
});

test('a member is not admitted, and their session is ended', async () => {
  const { username, token } = await register();
  const visitor = createBrowser(baseUrl());
  const fields = { login: username, password: PASSWORD };
  const refused = await visitor.submit(await visitor.get('/ops'), 'login', fields);
  expect(refused.status).toBe(403);
  expect((await visitor.get('/ops', { cookie: `ops=user.${token}` })).status).toBe(403);
});

const secretIn = ({ html }: BrowserPage): string =>
  /dir="ltr">([A-Z2-7 ]{32,})</.exec(html)?.[1]?.replaceAll(' ', '') ?? '';
const recoveryCodesIn = ({ html }: BrowserPage): string[] =>
  [...html.matchAll(/dir="ltr">([A-Z2-7]{4}(?:-[A-Z2-7]{4})+)</g)].map(([, code]) => code ?? '');

test('an operator without a second factor must set one up at the log-in before anything is shown', async () => {
  const account = await register();
  const body = { role_ids: [MEMBER_ROLE, 2] };
  expectStatus(await api('PUT', `/users/${account.id}`, { token: await administratorToken(), body }), 200);
  const visitor = createBrowser(baseUrl());
  const fields = { login: account.username, password: PASSWORD };
  const page = await visitor.submit(await visitor.get('/ops'), 'login', fields);
  expect([page.status, page.html.includes('<nav')]).toEqual([200, false]);
  const secret = secretIn(page);
  for (const slug of ['withdrawals', 'users']) {
    const hidden = await visitor.get(`/ops/${slug}`);
    expect([hidden.html.includes('<nav'), hidden.html.includes('begin_second_factor')]).toEqual([
      false,
      true,
    ]);
  }
  expect((await visitor.submit(page, 'arm_second_factor', { totp: '000000' })).status).toBe(422);
  const done = await visitor.submit(page, 'arm_second_factor', { totp: totpOf(secret, new Date()) });
  expect([done.status, recoveryCodesIn(done).length]).toEqual([200, 10]);
  expect((await visitor.get('/ops')).html).toContain('<nav');
  expect((await api('GET', '/auth/me', { token: account.token })).status).toBe(401);
});

test('an operator who double-clicks the last step gets the recovery codes once and can replace them', async () => {
  const account = await register();
  const body = { role_ids: [MEMBER_ROLE, 2] };
  expectStatus(await api('PUT', `/users/${account.id}`, { token: await administratorToken(), body }), 200);
  const visitor = createBrowser(baseUrl());
  const fields = { login: account.username, password: PASSWORD };
  const page = await visitor.submit(await visitor.get('/ops'), 'login', fields);
  const totp = totpOf(secretIn(page), new Date());
  const clicks = [1, 2].map(() => visitor.submit(page, 'arm_second_factor', { totp }));
  const [first, second] = (await Promise.all(clicks)).sort((a, b) => a.status - b.status);
  expect([first?.status, second?.status, second?.location?.pathname]).toEqual([
    200,
    303,
    '/ops/second-factor',
  ]);
  const codes = recoveryCodesIn(first as BrowserPage);
  expect(codes).toHaveLength(10);
  const on = await visitor.get(String(second?.location?.href));
  const used = await visitor.submit(on, 'replace_second_factor', { password: PASSWORD, totp });
  expect([used.status, used.html.includes('id="totp-problem"')]).toEqual([422, true]);
  const proof = { password: PASSWORD, totp: codes[0] ?? '' };
  const again = await visitor.submit(used, 'replace_second_factor', proof);
  const done = await visitor.submit(again, 'arm_second_factor', {
    totp: totpOf(secretIn(again), new Date()),
  });
  const replaced = recoveryCodesIn(done);
  expect([replaced.length, replaced.filter((code) => codes.includes(code))]).toEqual([10, []]);
  expect((await visitor.get('/ops')).html).toContain('<nav');
});

test('the services and their queues are shown', async () => {
  const { status, html } = await browser.get('/ops');
  expect(status).toBe(200);
  for (const service of ['identity', 'wallet', 'gyms', 'content', 'media', 'store-billing'])
    expect(html).toContain(`<bdi dir="ltr">${service}</bdi>`);
  expect(html).not.toContain('is not responding');
  expect(html).not.toContain('cannot be reached');
});

test('a dead letter is replayed, and the audit log has the operator', async () => {
  const id = await deadLetter();
  const page = await browser.get('/ops/dead-letters');
  expect((await submit(page, 'replay', id)).status).toBe(303);
  expect((await browser.get('/ops/dead-letters')).html).not.toContain(id);
  expect(await audited('dead_letters.replay')).toHaveLength(1);
  expect((await submit(page, 'replay', id)).status).toBe(404);
});

describe('withdrawals', () => {
  test('a withdrawal is paid once despite a double click', async () => {
    const id = await pendingWithdrawal();
    const page = await browser.get('/ops/withdrawals');
    const before = (await audited('withdrawal.pay')).length;
    const shown = await submit(page, 'pay', `name="payment_id" value="${id}"`);
    for (const part of ['20,000 Tooman', 'IR062960000000100324200001']) expect(shown.html).toContain(part);
    expect((await paymentOf(id)).is_done).toBe(false);
    const reference = { reference: 'PAYA-20261126' };
    const both = await Promise.all([1, 2].map(() => submit(shown, 'confirm_pay', '', reference)));
    expect(both.map(({ status }) => status)).toEqual([303, 303]);
    const payment = await paymentOf(id);
    expect([payment.is_done, payment.meta.reference]).toEqual([true, 'PAYA-20261126']);
    const noticed = await browser.get(both[0]?.location?.href ?? '');
    expect(noticed.html).toContain(`Withdrawal ${id} of 20,000 Tooman was marked as paid.`);
    expect(await audited('withdrawal.pay')).toHaveLength(before + 1);
    // An outdated list leads to a page that says so and offers no other decision.
    const late = await submit(page, 'reject', `name="payment_id" value="${id}"`);
    expect(late.html).toContain(`Withdrawal ${id} of 20,000 Tooman was marked as paid.`);
    expect(late.html).not.toContain('confirm_reject');
    expect((await paymentOf(id)).rejected_at).toBeNull();
  });

  test('a withdrawal is rejected with a reason', async () => {
    const id = await pendingWithdrawal();
    const page = await browser.get('/ops/withdrawals');
    const reason = { reason: 'The account is closed' };
    const marker = `name="payment_id" value="${id}"`;
    expect((await decide(page, 'reject', marker, { reason: ' ' })).status).toBe(422);
    expect((await paymentOf(id)).rejected_at).toBeNull();
    expect((await decide(page, 'reject', marker, reason)).status).toBe(303);
    const payment = await paymentOf(id);
    expect(payment.rejected_at).not.toBeNull();
    expect(JSON.stringify(payment.meta)).toContain('The account is closed');
  });
});

test('a license that was replaced in the meantime is not approved', async () => {
  const { owner, gymId, mediaId } = await gymWithLicense();
  expect((await browser.get('/ops/licenses')).html).toContain(`kind=gym&amp;id=${gymId}`);
  const path = `/ops/licenses?kind=gym&id=${gymId}`;
  const page = await browser.get(path);
  expect(page.html).toContain(`src="/ops/documents/${mediaId}"`);
  const shown = await browser.get(`/ops/documents/${mediaId}`);
  expect([shown.status, shown.headers.get('content-type')]).toEqual([200, 'image/png']);
  await uploadLicense(owner, gymId);
  const marker = `name="id" value="${gymId}"`;
  const replaced = await submit(page, 'approve', marker);
  expect(replaced.html).toContain('This license document has been replaced.');
  expect(replaced.html).not.toContain('confirm_approve');
  const state = async () =>
    expectStatus(await api('GET', `/gyms/${gymId}`, { token: owner.token }), 200).body.gym
      .gym_license_approved;
  expect(await state()).toBeNull();
  expect((await decide(await browser.get(path), 'approve', marker)).status).toBe(303);
  expect(await state()).toBe(true);
  expect((await browser.get('/ops/licenses')).html).not.toContain(`kind=gym&amp;id=${gymId}"`);
  expect(await audited('gym_license.review')).toHaveLength(1);
});

test('a disputed deposit is returned with a note', async () => {
  const { token } = await register();
  const id = await disputedDeposit(token);
  const page = await browser.get('/ops/disputes');
  const marker = `name="payment_id" value="${id}"`;
  expect((await decide(page, 'returned', marker, { note: '' })).status).toBe(422);
  const shown = await submit(page, 'returned', marker);
  const both = await Promise.all(
    [1, 2].map(() => submit(shown, 'confirm_returned', '', { note: 'Sent back' })),
  );
  expect(both.map(({ status }) => status)).toEqual([303, 303]);
  const noticed = await browser.get(both[0]?.location?.href ?? '');
  expect(noticed.html).toContain(`Deposit ${id} of 1,000 Tooman was marked as returned.`);
  expect((await browser.get('/ops/disputes')).html).not.toContain(marker);
  expect(await audited('deposit.resolve')).toHaveLength(1);
});

test('a scheduled deletion is listed', async () => {
  const account = await register();
  const { deletion_scheduled_at: at } = (await scheduleDeletion(account)).body;
  const { html } = await browser.get('/ops/deletions');
  expect(html).toContain(account.username);
  expect(html).toContain(at);
});

test('a user is found by e-mail and gets a role', async () => {
  const account = await register();
  const page = await browser.get('/ops/users');
  const results = await submit(page, 'search', 'name="search"', { search: account.email });
  expect(results.html).toContain(account.username);
  const detail = await browser.get(`/ops/users?id=${account.id}`);
  const saved = await decide(detail, 'save_roles', 'name="role_2"', {}, { role_1: 'on', role_2: 'on' });
  expect(saved.status).toBe(303);
  const read = async () =>
    expectStatus(await api('GET', '/auth/me', { token: await tokenOf(account.username) }), 200).body.user;
  expect((await read()).roles.map(({ name }: { name: string }) => name).sort()).toEqual([
    'member',
    'operator',
  ]);
});

test('a second factor is removed and the sessions are ended only after confirmation', async () => {
  const { id, token, username } = await newOperator([MEMBER_ROLE]);
  const shown = await submit(await browser.get(`/ops/users?id=${id}`), 'remove_second_factor', '');
  expect([shown.status, shown.html.includes(username)]).toEqual([200, true]);
  expect((await api('GET', '/auth/me', { token })).status).toBe(200);
  expect(await audited('second_factor.remove')).toEqual([]);
  expect((await submit(shown, 'confirm_remove_second_factor', '')).status).toBe(303);
  expect((await api('GET', '/auth/me', { token })).status).toBe(401);
  expect(await tokenOf(username)).toMatch(/./);
  expect(await audited('second_factor.remove')).toMatchObject([{ subject_id: id }]);
});

test('a role gets a permission after confirmation, and keeps its protected permissions', async () => {
  const read = async (id: number): Promise<string[]> =>
    expectStatus(await api('GET', '/roles', { token: operator.token }), 200)
      .body.data.find((role: { id: number }) => role.id === id)
      .permissions.sort();
  /** Shows the role's form and changes one checkbox. */
  const changeOf = async (id: number, name: string): Promise<BrowserPage> => {
    const page = await browser.get(`/ops/roles?id=${id}`);
    const ticked = [...page.html.matchAll(/name="(permission\.[a-z_.]+)" value="on" checked/g)];
    const fields = Object.fromEntries(ticked.map(([, field]) => [field, 'on']));
    const { [`permission.${name}`]: had, ...others } = fields;
    const changed = had === undefined ? { ...others, [`permission.${name}`]: 'on' } : others;
    const shown = await submit(page, 'change', `name="id" value="${id}"`, changed as Record<string, string>);
    expect(shown.status).toBe(200);
    return submit(shown, 'confirm_change', `name="id" value="${id}"`);
  };
  const role = await gymReviewers();
  expect((await changeOf(role, 'audit.view')).status).toBe(303);
  expect(await read(role)).toEqual(['audit.view', 'gyms.approve_license', 'gyms.view_all']);
  expect((await changeOf(role, 'audit.view')).status).toBe(303);
  expect(await read(role)).toEqual(['gyms.approve_license', 'gyms.view_all']);
  expect(await audited('role.update')).toHaveLength(2);
  const administrators = await read(3);
  const refused = await changeOf(3, 'audit.view');
  expect([refused.status, refused.html.includes('id="permissions-problem"')]).toEqual([409, true]);
  expect(await read(3)).toEqual(administrators);
});

test('an operator who may only review gym licenses does so and sees the document', async () => {
  const { gymId, mediaId } = await gymWithLicense();
  const reviewer = await newOperator([await gymReviewers()]);
  const visitor = createBrowser(baseUrl());
  await signIn(visitor, reviewer);
  expect((await visitor.get('/ops')).html).not.toContain('/ops/users');
  const page = await visitor.get(`/ops/licenses?kind=gym&id=${gymId}`);
  expect((await visitor.get(`/ops/documents/${mediaId}`)).status).toBe(200);
  const shown = await submit(page, 'approve', `name="id" value="${gymId}"`, {}, visitor);
  expect((await submit(shown, 'confirm_approve', '', {}, visitor)).status).toBe(303);
});

test('the page of a member shows everything about them except secrets', async () => {
  const member = await busyMember(operator.token);
  const purchaseToken = await dueRefund(member.id);
  const refunds = (await browser.get('/ops/disputes')).html;
  expect(refunds).toContain(purchaseToken);
  expect(refunds).toContain(`href="/ops/members/${member.id}?lang=en"`);
  const results = await submit(await browser.get('/ops/users'), 'search', 'name="search"', {
    search: String(member.id),
  });
  expect(results.html).toContain(`href="/ops/members/${member.id}?lang=en"`);
  const { status, html } = await browser.get(`/ops/members/${member.id}`);
  expect(status).toBe(200);
  for (const shown of [
    member.email,
    '230,000 Tooman',
    'Iron House',
    'Eight weeks of strength',
    'Android, Persian',
    'owns 1 gym',
    'has 1 open withdrawal',
    'Profile changed',
    operator.username,
  ])
    expect([shown, html.includes(shown)]).toEqual([shown, true]);
  expect(html).not.toContain('cannot be shown at the moment');
  for (const secret of [
    member.token,
    createHash('sha256').update(member.token).digest('hex'),
    member.pushToken,
  ])
    expect(html).not.toContain(secret);
});

test('a member is deleted after confirmation, which the audit log and their page then show', async () => {
  const member = await register();
  const page = await browser.get(`/ops/members/${member.id}`);
  const shown = await submit(page, 'delete', '');
  expect(shown.html).toContain(member.email);
  expect((await api('GET', '/auth/me', { token: member.token })).status).toBe(200);
  expect((await submit(shown, 'confirm_delete', '')).status).toBe(303);
  expect((await api('GET', '/auth/me', { token: member.token })).status).toBe(401);
  const { html } = await browser.get(`/ops/members/${member.id}`);
  expect(html).toContain('There is no account with this ID.');
  expect(html).toContain('Account deleted');
  expect(html).not.toContain(member.email);
  expect(await audited('user.delete')).toMatchObject([{ subject_id: member.id }]);
});

test('the audit log is downloaded as filtered', async () => {
  const { id } = await register();
  const body = { first_name: '=HYPERLINK("http://x")' };
  expectStatus(await api('PUT', `/users/${id}`, { token: operator.token, body }), 200);
  const filters = `subject_type=user&subject_id=${id}`;
  const { status, headers, html } = await browser.get(`/ops/audit-log.csv?${filters}`);
  expect([status, headers.get('content-type')]).toEqual([200, 'text/csv; charset=utf-8']);
  expect(html.trimEnd().split('\r\n')).toHaveLength(2);
  expect(html).toContain(`${operator.id},"${operator.username}","user.update","user",${id},"first_name"`);
  expect(html).toContain(`"'=HYPERLINK(""http://x"")"`);
  expect((await browser.get(`/ops/audit-log.csv?${filters}&to=2001-01-01`)).html).not.toContain(
    'Profile changed',
  );
});

test('the audit log shows the actions of these tests', async () => {
  const { status, html } = await browser.get(`/ops/audit-log?actor_id=${operator.id}`);
  expect(status).toBe(200);
  expect(html).toContain('Withdrawal paid');
});

test('an open page receives a change within seconds', async () => {
  const [cookie] = [...browser.cookies.values()];
  const response = await fetch(`${baseUrl()}/ops/live?section=withdrawals`, {
    headers: { cookie: `ops=${cookie?.value}` },
  });
  await pendingWithdrawal();
  const decoder = new TextDecoder();
  let text = '';
  for await (const chunk of response.body ?? []) {
    text += decoder.decode(chunk as Uint8Array, { stream: true });
    if (text.includes('event: changed')) break;
  }
  expect(text).toContain('event: changed');
});
