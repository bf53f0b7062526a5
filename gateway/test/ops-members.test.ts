/** The page of a member on `/ops`, and the links to it. */
import { PERMISSIONS, type Permission } from '@fitness/shared/kernel/permissions.ts';
import { beforeEach, describe, expect, test } from '@jest/globals';
import {
  arrangeOps,
  calls,
  decide,
  follow,
  gateway,
  operatorOf,
  PATH,
  replies,
  signIn,
  submit,
  TOKEN,
  WITHDRAWAL,
} from './ops-support.ts';

arrangeOps();

const AT = '2026-01-01 00:00:00';
const MEMBER = {
  ...WITHDRAWAL.user,
  email: 'sara@example.com',
  phone: '+989120000005',
  bank_account_number: 'IR062960000000100324200001',
  height: 171,
  birth_date: '1994-05-21',
  roles: [{ id: 1, name: 'member', title: 'Member', permissions: [] }],
  is_trainer: true,
  is_gym_owner: false,
  referrer_user_id: 7,
  referrals_count: 3,
  trainer_license_image: null,
  trainer_license_approved: null,
  deletion_requested_at: null as string | null,
  deletion_scheduled_at: null as string | null,
  current_subscription: { type: 'plus', starts_at: AT, expires_at: '2026-02-01 00:00:00' },
};
const ENTRY = {
  id: 1,
  service: 'identity',
  action: 'user.update',
  actor_id: 9,
  subject_type: 'user',
  subject_id: 5,
  request_id: null,
  before: { first_name: 'Sarah' },
  after: { first_name: 'Sara' },
  created_at: AT,
};
const SERVICE = { id: 6, title: 'Eight weeks', price: 1_200_000, is_active: false, created_at: AT };
const PAGE = { current_page: 1, last_page: 1 };
const list = (...data: unknown[]) => ({ status: 200, body: { data, meta: PAGE } });
const DISPUTES = 'GET /payments/deposit/disputed';
const REFUNDS = 'GET /payments/store-purchases/refund-queue';
const BLOCKERS = 'GET /users/5/deletion-blockers';

/** A text in each part of the page, and the permission that the part requires. */
const PARTS: readonly (readonly [name: string, needs: Permission | undefined, shown: string])[] = [
  ['account', undefined, 'sara@example.com'],
  ['subscription', undefined, '2026-02-01 00:00:00'],
  ['training services', undefined, 'Eight weeks'],
  ['sessions', undefined, 'Fitness/3.2'],
  ['devices', undefined, 'iOS, Persian'],
  ['balance', 'payments.view_all', '250,000 Tooman'],
  ['payments', 'payments.view_all', 'For the spring course'],
  ['gyms', 'gyms.view_all', 'Iron House'],
  ['deletion', 'users.delete', 'Nothing blocks the deletion'],
  ['history', 'audit.view', 'Profile changed'],
];

beforeEach(() => {
  replies.set('GET /users/5', { status: 200, body: { user: MEMBER } });
  const names = [
    { id: 7, username: 'reza', first_name: 'Reza', last_name: 'Karimi' },
    { id: 9, username: 'mina', first_name: 'Mina', last_name: 'Rad' },
  ];
  replies.set('GET /users/names', { status: 200, body: { data: names } });
  replies.set('GET /payments/balance', { status: 200, body: { balance: 250_000 } });
  const payment = { ...WITHDRAWAL, type: 'deposit', is_done: true, description: 'For the spring course' };
  replies.set('GET /payments', list(payment));
  replies.set('GET /gyms', list({ id: 4, name: 'Iron House', is_active: true, created_at: AT }));
  replies.set('GET /training-services', list(SERVICE));
  const session = { id: 2, name: 'Fitness/3.2', address: '192.0.2.1', created_at: AT, last_used_at: AT };
  replies.set('GET /users/5/sessions', list({ ...session, device: { platform: 'ios', locale: 'fa' } }));
  replies.set(BLOCKERS, { status: 200, body: { data: [] } });
  replies.set(DISPUTES, list());
  replies.set(REFUNDS, list());
  replies.set('GET /audit-log', list(ENTRY));
});

const open = async (permissions: readonly Permission[] = PERMISSIONS) => {
  gateway.tokens.set(TOKEN, operatorOf(permissions));
  const browser = await signIn();
  return { browser, page: await browser.get(`${PATH}/members/5`) };
};

describe('the page of a member', () => {
  test('the member page shows every part, with names, to an operator with every permission', async () => {
    const { page } = await open();
    expect(page.status).toBe(200);
    for (const [name, , shown] of PARTS) expect([name, page.html.includes(shown)]).toEqual([name, true]);
    for (const [id, name] of [
      [7, 'reza'],
      [9, 'mina'],
    ])
      expect(page.html).toMatch(new RegExp(`<a href="${PATH}/members/${id}\\?lang=en"><bdi>${name}<`));
    expect(page.html).toMatch(/href="\/ops\/users\?lang=en" aria-current="true"/);
  });

  test.each(PARTS.filter(([, needs]) => needs !== undefined))(
    'the member page neither shows nor reads the %s without %s',
    async (_name, needs, shown) => {
      const { page } = await open(PERMISSIONS.filter((name) => name !== needs));
      expect([page.status, page.html.includes(shown)]).toEqual([200, false]);
      const paths = {
        'payments.view_all': '/payments',
        'gyms.view_all': '/gyms',
        'audit.view': '/audit-log',
      };
      const path = paths[needs as keyof typeof paths] ?? '/deletion-blockers';
      expect(calls.filter((call) => call.includes(path))).toEqual([]);
    },
  );

  test('the member page begins with the account, and audit entries follow the deletion', async () => {
    const { page } = await open();
    const titles = [...page.html.matchAll(/<section class="card"><h2>([^<]*)</g)].map(([, title]) => title);
    expect(titles).toEqual([
      'Account',
      'Payments',
      'Subscription',
      'Gyms',
      'Training services',
      'Sessions and devices',
      'Deletion',
      'What operators did to this account',
    ]);
  });

  test('a gym links to its license, and a gym without one is plain text', async () => {
    const gym = { name: 'Iron House', is_active: true, created_at: AT, gym_license_approved: null };
    const uploaded = { ...gym, id: 5, gym_license_image: 'license.png' };
    const reviewed = { ...gym, id: 6, gym_license_image: null, gym_license_approved: false };
    replies.set('GET /gyms', list({ ...gym, id: 4, gym_license_image: null }, uploaded, reviewed));
    const { page } = await open();
    const links = [...page.html.matchAll(/href="\/ops\/licenses\?[^"]*kind=gym&amp;id=(\d+)"/g)];
    expect(links.map(([, id]) => id)).toEqual(['5', '6']);
    expect(page.html.split('Iron House')).toHaveLength(4);
  });

  test('numbers and dates of a member are in the digits and the calendar of the language', async () => {
    const { browser } = await open();
    const { html } = await browser.get(`${PATH}/members/5?lang=fa`);
    for (const text of [
      '<dd>۱۷۱ سانتی‌متر</dd>',
      '<dd>۳</dd>',
      '<bdi>۳۱ اردیبهشت ۱۳۷۳</bdi>',
      '۲۵۰٬۰۰۰ تومان',
    ])
      expect(html).toContain(text);
  });

  test('titles of seeded roles and descriptions of the wallet are in the language of the page', async () => {
    const stored = { ...WITHDRAWAL, description: 'Withdrawal to bank account' };
    replies.set('GET /payments', list(stored, { ...WITHDRAWAL, id: 32, description: 'My own words' }));
    const { html } = await (await signIn()).get(`${PATH}/members/5?lang=fa`);
    expect(html).toContain('عضو');
    expect(html).not.toMatch(/>Member<|Withdrawal to bank account/);
    expect(html).toContain('My own words');
  });

  test('the member page returns 403 without users.view_all, and 404 for an invalid id', async () => {
    const browser = await signIn();
    for (const address of ['members', 'members/x', 'members/0', 'users/5', 'nothing/5'])
      expect([address, (await browser.get(`${PATH}/${address}`)).status]).toEqual([address, 404]);
    const { page } = await open(['audit.view']);
    expect(page.status).toBe(403);
    expect(calls.filter((call) => call.includes('/users/5'))).toEqual([]);
  });

  test('the member page shows the other parts while one service does not answer', async () => {
    replies.set('GET /gyms', { status: 503, body: { message: 'later' } });
    const { page } = await open();
    expect([page.status, page.html.split('a service is not responding').length]).toEqual([200, 2]);
    expect(page.html).toContain('For the spring course');
  });

  test('the member page of an erased account has only its payments and the actions of operators', async () => {
    replies.delete('GET /users/5');
    const { page } = await open();
    expect(page.status).toBe(200);
    expect(page.html).toContain('There is no account with this ID.');
    for (const [name, needs, shown] of PARTS) {
      const remains = needs === 'payments.view_all' || needs === 'audit.view';
      expect([name, page.html.includes(shown)]).toEqual([name, remains]);
    }
  });

  test('texts of members are escaped', async () => {
    const markup = '"><script>alert(1)</script>';
    replies.set('GET /users/5', { status: 200, body: { user: { ...MEMBER, first_name: markup } } });
    replies.set(
      'GET /users/5/sessions',
      list({ id: 1, name: markup, device: null, created_at: AT, last_used_at: AT }),
    );
    const { page } = await open();
    expect(page.html).not.toContain('<script>alert');
    expect(page.html.split('&lt;script&gt;').length).toBeGreaterThan(2);
  });

  test('links of the member page keep the language and the pages of the other lists', async () => {
    replies.set('GET /payments', {
      status: 200,
      body: { data: [WITHDRAWAL], meta: { current_page: 2, last_page: 3 } },
    });
    const browser = await signIn();
    const { html } = await browser.get(`${PATH}/members/5?payments=2&gyms=4`);
    expect(html).toContain('href="/ops/members/5?lang=fa"');
    expect(html).toContain(
      'href="/ops/members/5?lang=en&amp;payments=3&amp;gyms=4&amp;services=1&amp;sessions=1"',
    );
  });
});

describe('the deletion of a member', () => {
  test('a deletion is shown with the person first, and executed by the second step', async () => {
    replies.set('DELETE /users/5', { status: 204 });
    const { browser, page } = await open();
    const shown = await submit(browser, page, 'delete');
    expect(shown.status).toBe(200);
    for (const text of ['sara', 'sara@example.com', '+989120000005']) expect(shown.html).toContain(text);
    expect(calls).not.toContain('identity DELETE /users/5');
    const done = await submit(browser, shown, 'confirm_delete');
    expect([done.status, done.location?.pathname]).toEqual([303, '/ops/members/5']);
    expect(calls).toContain('identity DELETE /users/5');
    replies.delete('GET /users/5');
    expect((await follow(browser, done)).html).toContain('Account 5 has been erased.');
  });

  test('a blocked deletion has no button, and says what blocks it', async () => {
    const data = [
      { code: 'gym_ownership', message: 'You own 2 gyms.', count: 2 },
      { code: 'unsettled_balance', message: 'Your balance …', balance: -5_000 },
      { code: 'of_a_newer_release', message: 'Something new.' },
    ];
    replies.set(BLOCKERS, { status: 200, body: { data } });
    const { page } = await open();
    for (const text of ['owns 2 gyms', 'has a balance of -5,000 Tooman', 'Something new.'])
      expect(page.html).toContain(text);
    expect(page.html).not.toContain('value="delete"');
  });

  test('a deletion warns of open disputes, purchases to refund and services for sale', async () => {
    const counted = (total: number) => ({ status: 200, body: { data: [{}], meta: { ...PAGE, total } } });
    replies.set(DISPUTES, counted(1));
    replies.set(REFUNDS, counted(2));
    replies.set('GET /training-services', {
      status: 200,
      body: { data: [SERVICE], meta: { ...PAGE, total: 3 } },
    });
    const { browser, page } = await open();
    const shown = await submit(browser, page, 'delete');
    for (const { html } of [page, shown])
      for (const text of [
        `<a href="${PATH}/disputes?lang=en">1 disputed deposit is open.`,
        `<a href="${PATH}/disputes?lang=en">2 store purchases are still to be refunded.`,
        '3 training services will be deleted',
      ])
        expect(html).toContain(text);
    expect(gateway.upstreams.wallet.received.map(({ url }) => String(url))).toContainEqual(
      expect.stringContaining('/payments/deposit/disputed?user_id=5&'),
    );
    replies.set(DISPUTES, counted(2));
    const changed = await submit(browser, shown, 'confirm_delete');
    expect(changed.html).toContain('2 disputed deposits are open');
    expect(calls).not.toContain('identity DELETE /users/5');
  });

  test('the deletion says that payments are hidden without payments.view_all, and names the account', async () => {
    const { page } = await open(PERMISSIONS.filter((name) => name !== 'payments.view_all'));
    expect(page.html).toContain('You may not see payments.');
    expect(page.html).toMatch(/value="delete" class="danger">Delete the account \Wsara\W</);
  });

  test('a deletion is not executed if a blocker or another person appears between the steps', async () => {
    const { browser, page } = await open();
    const shown = await submit(browser, page, 'delete');
    replies.set(BLOCKERS, {
      status: 200,
      body: { data: [{ code: 'gym_ownership', message: '', count: 1 }] },
    });
    const blocked = await submit(browser, shown, 'confirm_delete');
    expect([blocked.status, blocked.html.includes('owns 1 gym')]).toEqual([200, true]);
    replies.set(BLOCKERS, { status: 200, body: { data: [] } });
    replies.set('GET /users/5', { status: 200, body: { user: { ...MEMBER, username: 'other' } } });
    expect((await submit(browser, shown, 'confirm_delete')).html).toContain('other');
    expect(calls).not.toContain('identity DELETE /users/5');
  });

  test('a deletion is not offered for another operator’s account or for one’s own', async () => {
    replies.set(BLOCKERS, { status: 403, body: { message: 'no' } });
    const { page } = await open();
    expect(page.html).toContain('You may not delete this account');
    expect(page.html).not.toContain('value="delete"');
    replies.set(BLOCKERS, { status: 200, body: { data: [] } });
    gateway.tokens.set(TOKEN, { ...operatorOf(PERMISSIONS), userId: 5 });
    expect((await (await signIn()).get(`${PATH}/members/5`)).html).not.toContain('value="delete"');
  });

  test('a deletion that the API refuses shows the reason', async () => {
    replies.set('DELETE /users/5', {
      status: 409,
      body: { error: 'not yet', code: 'account_deletion_blocked' },
    });
    const { browser, page } = await open();
    const refused = await decide(browser, page, 'delete');
    expect([refused.status, refused.html.includes('not yet')]).toEqual([409, true]);
  });
});

describe('the sessions of a member', () => {
  const PATH_OF_SESSION = 'DELETE /users/5/sessions/2';

  test('a session is ended after a step that shows it', async () => {
    replies.set(PATH_OF_SESSION, { status: 204 });
    const { browser, page } = await open();
    const shown = await submit(browser, page, 'end_session');
    for (const text of ['End a session of', 'Fitness/3.2', '192.0.2.1', 'iOS, Persian'])
      expect(shown.html).toContain(text);
    expect(calls).not.toContain(`identity ${PATH_OF_SESSION}`);
    const done = await submit(browser, shown, 'confirm_end_session');
    expect([done.status, done.location?.search]).toEqual([303, '?lang=en&session=2&done=ended']);
    expect(calls).toContain(`identity ${PATH_OF_SESSION}`);
    expect((await follow(browser, done)).html).not.toContain('was ended.');
    replies.set('GET /users/5/sessions', list());
    expect((await follow(browser, done)).html).toMatch(/A session of \Wsara\W .* was ended\./);
  });

  test('a session that has already ended is reported, and no other session is ended instead', async () => {
    const { browser, page } = await open();
    const shown = await submit(browser, page, 'end_session');
    const older = { id: 1, name: 'Other', address: null, device: null, created_at: AT, last_used_at: AT };
    replies.set('GET /users/5/sessions', list(older));
    const ended = await submit(browser, shown, 'confirm_end_session');
    expect([ended.status, ended.html.includes('This session has already ended.')]).toEqual([404, true]);
    expect(calls.filter((call) => call.includes('DELETE'))).toEqual([]);
  });

  test('a session can be ended only with the required permissions, and not in one’s own account', async () => {
    const button = 'value="end_session"';
    const { page } = await open(PERMISSIONS.filter((name) => name !== 'users.update_any'));
    expect([page.html.includes('Fitness/3.2'), page.html.includes(button)]).toEqual([true, false]);
    const colleague = { id: 2, name: 'operator', title: 'Operator', permissions: ['users.view_all'] };
    replies.set('GET /users/5', { status: 200, body: { user: { ...MEMBER, roles: [colleague] } } });
    const withoutRoles = await open(PERMISSIONS.filter((name) => name !== 'roles.manage'));
    expect(withoutRoles.page.html).not.toContain(button);
    expect((await open()).page.html).toContain(button);
    gateway.tokens.set(TOKEN, { ...operatorOf(PERMISSIONS), userId: 5 });
    expect((await (await signIn()).get(`${PATH}/members/5`)).html).not.toContain(button);
  });

  test('a session is not ended if the API refuses, and the reason is shown', async () => {
    replies.set(PATH_OF_SESSION, { status: 403, body: { message: 'not you' } });
    const { browser, page } = await open();
    const refused = await decide(browser, page, 'end_session');
    expect([refused.status, refused.html.includes('not you')]).toEqual([403, true]);
  });
});

describe('a name on a page of /ops', () => {
  const REFUND = {
    id: 51,
    channel: 'cafebazaar',
    product_id: 'boost_pro',
    purchase_token: 'tok"en-1',
    user_id: 7,
    boostable_type: 'gym',
    boostable_id: 4,
    reason: 'already_running',
    created_at: AT,
  };
  beforeEach(() => {
    replies.set('GET /payments/deposit/disputed', list());
    replies.set('GET /payments/store-purchases/refund-queue', list(REFUND));
    const pending = { ...MEMBER, deletion_requested_at: AT, deletion_scheduled_at: AT };
    replies.set('GET /users', list(pending));
    replies.set('GET /gyms/4', {
      status: 200,
      body: { gym: { id: 4, name: 'Iron House', user_id: 7, gym_license_approved: true } },
    });
    replies.set('GET /gyms/license-reviews', list());
  });

  test.each([
    ['withdrawals', 5],
    ['disputes', 7],
    ['deletions', 5],
    ['licenses?kind=gym&id=4', 7],
    ['audit-log', 9],
    ['audit-log', 5],
  ])('a name on %s links to member %i, unless the operator may not see that page', async (address, id) => {
    const browser = await signIn();
    const link = `href="${PATH}/members/${id}?lang=en"`;
    expect((await browser.get(`${PATH}/${address}`)).html).toContain(link);
    if (address === 'deletions') return;
    gateway.tokens.set(TOKEN, operatorOf(PERMISSIONS.filter((name) => name !== 'users.view_all')));
    const { status, html } = await browser.get(`${PATH}/${address}`);
    expect([status, html.includes(`${PATH}/members/`)]).toEqual([200, false]);
  });

  test('a refund has its purchase token to copy, its target, and its reason in words', async () => {
    const browser = await signIn();
    const { html } = await browser.get(`${PATH}/disputes`);
    expect(html).toMatch(/<bdi>reza<\/bdi><\/a><br><bdi>Reza Karimi<\/bdi>/);
    expect(html).toContain('data-copy="tok&quot;en-1"');
    expect(html).toContain('<span class="code" dir="ltr">tok&quot;en-1</span>');
    expect(html).toContain('A subscription or boost was already running');
    expect(html).toContain('Gym <bdi dir="ltr">#4</bdi>');
    expect((await browser.get(`${PATH}/disputes?lang=fa`)).html).toContain('نردبان از قبل فعال بود');
  });

  test('the id is shown if the names cannot be read', async () => {
    replies.set('GET /users/names', { status: 503, body: { message: 'later' } });
    const { status, html } = await (await signIn()).get(`${PATH}/disputes`);
    expect([status, /members\/7\?lang=en"><bdi class="code" dir="ltr">#7</.test(html)]).toEqual([200, true]);
  });
});

test('a search for an id lists its account first, and only once', async () => {
  replies.set('GET /users', list({ ...MEMBER, id: 12, username: 'other5' }, MEMBER));
  const browser = await signIn();
  const page = await browser.get(`${PATH}/users`);
  for (const search of ['5', ' #5 ']) {
    const { html } = await submit(browser, page, 'search', { search });
    const rows = [...html.matchAll(/\/ops\/members\/(\d+)\?lang=en"/g)].map(([, id]) => id);
    expect(rows).toEqual(['5', '12']);
  }
  const byName = await submit(browser, page, 'search', { search: 'sara' });
  expect([...byName.html.matchAll(/members\/(\d+)\?/g)].map(([, id]) => id)).toEqual(['12', '5']);
});
