/** The lists of `/ops`: who may see them, and their pages. */
import type { Permission } from '@fitness/shared/kernel/permissions.ts';
import { describe, expect, test } from '@jest/globals';
import { SERVICES } from '../src/request/routes.ts';
import {
  arrangeOps,
  calls,
  decide,
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

const USER = WITHDRAWAL.user;

describe('license reviews', () => {
  const GYM: Permission[] = ['gyms.view_all', 'gyms.approve_license'];
  const TRAINER: Permission[] = ['users.view_all', 'users.update_any'];

  const arrange = (permissions: readonly Permission[]): void => {
    replies.set('GET /gyms/license-reviews', { status: 200, body: { data: [{ id: 4, name: 'Gym' }] } });
    replies.set('GET /users/license-reviews', { status: 200, body: { data: [USER] } });
    replies.set('GET /users', { status: 200, body: { data: [], meta: {} } });
    gateway.tokens.set(TOKEN, operatorOf(permissions));
  };

  test.each([
    ['gym licenses', GYM, ['kind=gym&amp;id=4'], 'GET /users/license-reviews'],
    ['trainer licenses', TRAINER, ['kind=trainer&amp;id=5'], 'GET /gyms/license-reviews'],
    [
      'both kinds of license',
      [...GYM, ...TRAINER],
      ['kind=gym&amp;id=4', 'kind=trainer&amp;id=5'],
      'nothing',
    ],
  ] as const)('an operator who may review %s sees no others', async (_kind, permissions, links, other) => {
    arrange(permissions);
    const browser = await signIn();
    const { status, html } = await browser.get(`${PATH}/licenses`);
    const all = ['kind=gym&amp;id=4', 'kind=trainer&amp;id=5'];
    expect([status, all.filter((link) => html.includes(link))]).toEqual([200, links]);
    expect(calls.filter((call) => call.includes(other))).toEqual([]);
  });

  test('a gym license in the list names the member who owns the gym', async () => {
    arrange([...GYM, ...TRAINER]);
    const gym = { id: 4, name: 'Gym', user_id: 7 };
    replies.set('GET /gyms/license-reviews', { status: 200, body: { data: [gym, { ...gym, id: 6 }] } });
    replies.set('GET /users/names', { status: 200, body: { data: [{ id: 7, username: 'reza' }] } });
    const { html } = await (await signIn()).get(`${PATH}/licenses`);
    expect(
      [...html.matchAll(/members\/(\d+)\?lang=en"><bdi>(\w+)</g)].map(([, id, name]) => [id, name]),
    ).toEqual([
      ['7', 'reza'],
      ['7', 'reza'],
    ]);
    expect(html.split('The oldest document is first.')).toHaveLength(2);
  });

  test('a license whose name has changed shows the reviewed name, in the list and beside the document', async () => {
    arrange([...GYM, ...TRAINER]);
    const name_changes = [{ id: 4, reviewed_name: 'Iron <House>' }];
    const meta = { current_page: 1, last_page: 1 };
    replies.set('GET /gyms/license-reviews', {
      status: 200,
      body: { data: [{ id: 4, name: 'Gym' }], meta: { ...meta, name_changes } },
    });
    replies.set('GET /users/license-reviews', {
      status: 200,
      body: { data: [USER], meta: { ...meta, name_changes: [{ id: 5, reviewed_name: null }] } },
    });
    const gym = { id: 4, name: 'Gym', gym_license_link: '/media/7/a.png', gym_license_approved: true };
    replies.set('GET /gyms/4', { status: 200, body: { gym } });
    const browser = await signIn();
    const list = await browser.get(`${PATH}/licenses`);
    expect(list.html).toContain('Iron &lt;House&gt;');
    expect(list.html).toContain('(no name)');
    const page = await browser.get(`${PATH}/licenses?kind=gym&id=4`);
    expect(page.html).toContain('Iron &lt;House&gt;');
    expect(gateway.upstreams.gyms.received.map(({ url }) => url)).toContain(
      '/api/v1/gyms/license-reviews?gym_id=4',
    );
    for (const html of [list.html, page.html]) expect(html).not.toMatch(/href="[^"]*Iron/);
  });

  test('a license that was approved without a document is reviewed without one', async () => {
    arrange(GYM);
    const gym = { id: 4, name: 'Gym', gym_license_link: null, gym_license_approved: true };
    replies.set('GET /gyms/4', { status: 200, body: { gym } });
    const meta = { name_changes: [{ id: 4, reviewed_name: 'Iron House' }] };
    replies.set('GET /gyms/license-reviews', { status: 200, body: { data: [gym], meta } });
    replies.set('PUT /gyms/4', { status: 200, body: { gym } });
    const browser = await signIn();
    const page = await browser.get(`${PATH}/licenses?kind=gym&id=4`);
    expect((await decide(browser, page, 'approve')).status).toBe(303);
    expect(calls).toContain('gyms PUT /gyms/4 {"gym_license_approved":true,"gym_license_media_id":null}');
  });

  test.each([
    ['half of the permissions of each', ['gyms.view_all', 'users.update_any']],
    ['other permissions', ['operations.manage']],
  ] as const)('an operator with %s may not see license reviews', async (_which, permissions) => {
    arrange([...permissions, 'operations.manage']);
    expect((await (await signIn()).get(`${PATH}/licenses`)).status).toBe(403);
  });

  test('a license of the other kind can be neither opened by its address nor reviewed', async () => {
    arrange(GYM);
    replies.set('GET /users/5', {
      status: 200,
      body: { user: { ...USER, trainer_license_link: '/media/7/a.png' } },
    });
    replies.set('GET /gyms/4', {
      status: 200,
      body: { gym: { id: 4, name: 'Gym', gym_license_link: '/media/7/a.png', gym_license_approved: null } },
    });
    const browser = await signIn();
    expect((await browser.get(`${PATH}/licenses?kind=trainer&id=5`)).html).not.toContain('documents/7');
    const page = await browser.get(`${PATH}/licenses?kind=gym&id=4`);
    expect(page.html).toContain('documents/7');
    expect((await submit(browser, page, 'approve', { kind: 'trainer', id: '5' })).status).toBe(404);
    expect(calls.filter((call) => call.includes('/users/5'))).toEqual([]);
  });
});

describe('paged lists', () => {
  const body = (data: object[], page: number, last: number): { status: number; body: object } => ({
    status: 200,
    body: { data, meta: { current_page: page, last_page: last } },
  });
  const DEPOSIT = {
    payment: { id: 81, user: USER, amount: 5, created_at: '2026-01-01 00:00:00' },
    track_id: 't',
    reported: { charged_rial: null, ref_number: null, card_number: null },
  };
  const REFUND = {
    id: 91,
    channel: 'c',
    product_id: 'p',
    user_id: 5,
    reason: 'r',
    created_at: '2026-01-01 00:00:00',
  };

  test.each([
    ['en', 'January 1, 2026 at 00:00 UTC', '50,000 Tooman'],
    ['fa', '۱۱ دی ۱۴۰۴ ساعت ۰۳:۳۰ به وقت تهران', '۵۰٬۰۰۰ تومان'],
  ])(
    'a list in %s has the dates and amounts of the language, and an unchanged IBAN',
    async (lang, date, amount) => {
      replies.set('GET /payments', body([WITHDRAWAL], 1, 1));
      const { html } = await (await signIn()).get(`${PATH}/withdrawals?lang=${lang}`);
      for (const text of [date, amount, WITHDRAWAL.meta.bank_account_number]) expect(html).toContain(text);
    },
  );

  test('two lists on a page are paged independently', async () => {
    replies.set('GET /payments/deposit/disputed', body([DEPOSIT], 2, 3));
    replies.set('GET /payments/store-purchases/refund-queue', body([REFUND], 1, 2));
    const { html } = await (await signIn()).get(`${PATH}/disputes?deposits=2&refunds=1`);
    for (const query of ['deposits=1&amp;refunds=1', 'deposits=3&amp;refunds=1', 'deposits=2&amp;refunds=2'])
      expect(html).toContain(`href="${PATH}/disputes?lang=en&amp;${query}"`);
    const urls = gateway.upstreams.wallet.received.map(({ url }) => url);
    expect(urls).toContain('/api/v1/payments/deposit/disputed?page=2');
  });

  test('a credit of an erased account can only be returned, and what is left in its balance is shown', async () => {
    const payment = { ...DEPOSIT.payment, type: 'income' };
    const list = body([{ ...DEPOSIT, payment, is_payer_erased: true, track_id: '' }], 1, 1);
    const balances = { erased_balances: [{ user_id: 77, balance: 5_000 }] };
    replies.set('GET /payments/deposit/disputed', { ...list, body: { ...list.body, ...balances } });
    const browser = await signIn();
    const { html } = await browser.get(`${PATH}/disputes?lang=en`);
    for (const text of [
      `Income ${payment.id}`,
      'The account of the payer is erased',
      'as returned',
      '5,000 Tooman',
    ])
      expect(html).toContain(text);
    expect(html).toContain('Erased accounts with a balance');
    expect(html).not.toContain('to the balance');
    replies.set('GET /payments/deposit/disputed', body([DEPOSIT], 1, 1));
    const other = (await browser.get(`${PATH}/disputes?lang=en`)).html;
    expect(other).toContain('to the balance');
    expect(other).not.toContain('Erased accounts with a balance');
  });

  test('gym and trainer licenses are paged independently', async () => {
    replies.set('GET /gyms/license-reviews', body([{ id: 4, name: 'Gym' }], 1, 2));
    replies.set('GET /users/license-reviews', body([USER], 1, 2));
    const { html } = await (await signIn()).get(`${PATH}/licenses`);
    for (const query of ['gyms=2&amp;trainers=1', 'gyms=1&amp;trainers=2'])
      expect(html).toContain(`href="${PATH}/licenses?lang=en&amp;${query}"`);
  });

  test.each([
    ['withdrawals', 'GET /payments'],
    ['deletions', 'GET /users'],
  ])('an empty last page of %s links back, and does not claim that the list is empty', async (slug, list) => {
    replies.set(list, body([], 3, 2));
    const { html } = await (await signIn()).get(`${PATH}/${slug}?page=3`);
    expect(html).toContain(`href="${PATH}/${slug}?lang=en&amp;page=2"`);
    expect(html).not.toMatch(/There are no/);
  });

  test.each([
    ['en', 1, '1 account found'],
    ['en', 41, '41 accounts found'],
    ['fa', 41, '۴۱ حساب پیدا شد'],
  ])(
    'a search in %s says that %d accounts were found, and keeps the search text',
    async (lang, total, text) => {
      const body = { data: [{ ...USER, id: 5 }], meta: { current_page: 1, last_page: 1, total } };
      replies.set('GET /users', { status: 200, body });
      const browser = await signIn();
      const page = await browser.get(`${PATH}/users?lang=${lang}`);
      const { html } = await submit(browser, page, 'search', { search: 'sara@example.com' });
      expect(html).toMatch(/<input name="search"[^>]* value="sara@example\.com"/);
      expect(html).toContain(`<p role="status">${text}</p>`);
    },
  );

  test('a search is paged by forms, so that the search text is not in an address', async () => {
    replies.set('GET /users', body([USER], 1, 2));
    const browser = await signIn();
    const results = await submit(browser, await browser.get(`${PATH}/users`), 'search', { search: 'sara' });
    expect(results.html).not.toMatch(/href="[^"]*sara/);
    replies.set('GET /users', body([USER], 2, 2));
    expect(results.html).toContain('<input type="hidden" name="page" value="2">');
    const second = await browser.post(`${PATH}/users`, {
      csrf: /name="csrf" value="([^"]*)"/.exec(results.html)?.[1] ?? '',
      search: 'sara',
      page: '2',
      action: 'search',
    });
    expect(second.html).toContain('<input type="hidden" name="page" value="1">');
    expect(gateway.upstreams.identity.received.map(({ url }) => url)).toContain(
      '/api/v1/users?search=sara&per_page=30&page=2',
    );
  });

  test('a search with too many results to count continues by forms to its last account, and says so', async () => {
    const uncounted = (data: object[], page: number | null, cursor: string | null) => ({
      status: 200,
      body: { data, meta: { current_page: page, last_page: null, total: null, next_cursor: cursor } },
    });
    const unfinished = 'The search is not finished.';
    replies.set('GET /users', uncounted([USER], 1, 'abc'));
    replies.set('GET /users/5', { status: 200, body: { user: USER } });
    const browser = await signIn();
    // A search for an id adds its account to the first page.
    const first = await submit(browser, await browser.get(`${PATH}/users`), 'search', { search: '5' });
    expect([first.html.includes(unfinished), first.html.includes('account found')]).toEqual([true, false]);
    expect(first.html.match(/members\/5\?/g)).toHaveLength(1);
    const turn = async (cursor: string) =>
      browser.post(`${PATH}/users`, {
        csrf: /name="csrf" value="([^"]*)"/.exec(first.html)?.[1] ?? '',
        search: '5',
        cursor,
        action: 'search',
      });
    expect(first.html).toContain('<input type="hidden" name="cursor" value="abc">');
    // The search has reached the read limit of a page without a result.
    replies.set('GET /users', uncounted([], null, 'def'));
    const second = await turn('abc');
    expect([second.html.includes(unfinished), second.html.includes('nothing to show')]).toEqual([
      true,
      false,
    ]);
    replies.set('GET /users', uncounted([{ ...USER, id: 15 }], null, null));
    const last = await turn('def');
    expect([last.html.includes(unfinished), /members\/15\?/.test(last.html)]).toEqual([false, true]);
    expect(last.html).not.toMatch(/members\/5\?|name="cursor"/);
    expect(gateway.upstreams.identity.received.map(({ url }) => url)).toContain(
      '/api/v1/users?search=5&per_page=30&cursor=def',
    );
  });
});

test('dead letters show their time and account, and are paged by service', async () => {
  const letter = {
    id: 'e-1',
    type: 'identity.account.deleted',
    subject: '5',
    consumer: null,
    attempts: 0,
    error: 'x',
    first_failed_at: '2026-01-15T10:00:00.000Z',
  };
  const gym = { ...letter, id: 'e-2', type: 'gyms.gym.changed', first_failed_at: 'yesterday' };
  const queues = { waiting: 0, retrying: 0, dead_letters: 1_101 };
  replies.set('GET /operations', { status: 200, body: { outbox: { waiting: 0, lag_s: 0 }, queues } });
  replies.set('GET /operations/dead-letters', { status: 200, body: { data: [letter, gym], total: 1_101 } });
  replies.set('GET /users/names', { status: 200, body: { data: [{ id: 5, username: 'sara' }] } });
  const paths: string[] = [];
  const answer = gateway.upstreams.wallet.internal;
  gateway.upstreams.wallet.internal = (request, response) => {
    paths.push(request.url ?? '');
    return answer?.(request, response);
  };
  const { status, html } = await (await signIn()).get(`${PATH}/dead-letters?wallet=2`);
  expect(html).toContain('<h2>\u2068store-billing\u2069 (1,101 messages)</h2>');
  expect([status, html.includes('January 15, 2026 at 10:00 UTC')]).toEqual([200, true]);
  // A message that the broker gave up has no attempts.
  expect(html).not.toContain('<dt>Attempts</dt>');
  expect(html).toContain('Page 2 of 12');
  expect(html).toContain(`href="${PATH}/dead-letters?lang=en&amp;wallet=1"`);
  expect(html).toContain(`href="${PATH}/dead-letters?lang=en&amp;wallet=2&amp;gyms=2"`);
  expect(paths).toContain('/internal/operations/dead-letters?page=2');
  const links = html.match(/href="\/ops\/members\/5\?lang=en"/g);
  expect(links).toHaveLength(SERVICES.length);
});
