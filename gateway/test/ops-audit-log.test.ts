/** The audit log of `/ops`: who did what, what changed, and the same entries as a file. */

import { csvLine } from '@fitness/ops/audit-csv.ts';
import { PERMISSIONS } from '@fitness/shared/kernel/permissions.ts';
import { beforeEach, describe, expect, test } from '@jest/globals';
import {
  arrangeOps,
  browse,
  gateway,
  operatorOf,
  PATH,
  replies,
  signIn,
  submit,
  TOKEN,
} from './ops-support.ts';

arrangeOps();

const AT = '2026-01-01 00:00:00';
const entry = (more: object = {}) => ({
  id: 1,
  service: 'identity',
  action: 'user.update',
  actor_id: 9,
  subject_type: 'user',
  subject_id: 5,
  request_id: 'r-1',
  before: {},
  after: {},
  created_at: AT,
  ...more,
});
const NAMES = [
  { id: 5, username: 'sara', first_name: 'Sara', last_name: 'Ahmadi' },
  { id: 9, username: '=mina', first_name: 'Mina', last_name: 'Rad' },
];
const arrange = (...data: object[]): void => {
  replies.set('GET /audit-log', { status: 200, body: { data, meta: { next_cursor: null } } });
};
beforeEach(() => {
  replies.set('GET /users/names', { status: 200, body: { data: NAMES } });
  replies.set('GET /roles', { status: 200, body: { data: [], meta: { last_page: 1 } } });
  arrange(entry());
});

const auditLogUrls = (): string[] =>
  gateway.upstreams.identity.received
    .map(({ url }) => String(url))
    .filter((url) => url.includes('/audit-log'));
const FILTERS = 'action=user.update&actor_id=9&subject_type=user&subject_id=5&from=2026-01-01&to=2026-01-31';

const plain = (html: string): string =>
  html
    .replaceAll(/[\u2066-\u2069]/g, '')
    .replaceAll(/<\/?(?:bdi|span)[^>]*>/g, '')
    .replaceAll('&quot;', '"');
const changesOf = (html: string): string[] => {
  const lists = [...plain(html).matchAll(/<ul class="plain">([\s\S]*?)<\/ul>/g)].map(
    ([, list]) => list ?? '',
  );
  return lists.flatMap((list) => [...list.matchAll(/<li>(.*)<\/li>/g)].map(([, line]) => line ?? ''));
};

describe('the audit log', () => {
  test('the audit log shows changes in words, with labels, dates, units, and empty or erased values', async () => {
    arrange(
      entry({
        before: {
          first_name: 'Sarah',
          height: null,
          bank_account_number: { erased: true },
          birth_date: '1994-05-21',
          permissions: ['audit.view', 'of.an.older.release'],
          is_trainer: false,
          trainer_license_approved: null,
          someNew_field: 1_000,
        },
        after: {
          first_name: 'Sara',
          height: 171,
          bank_account_number: null,
          birth_date: null,
          permissions: ['of.an.older.release', 'roles.manage', 'posts.create'],
          is_trainer: true,
          trainer_license_approved: true,
          someNew_field: { changed: true },
        },
      }),
    );
    const browser = await signIn();
    expect(changesOf((await browser.get(`${PATH}/audit-log`)).html)).toEqual([
      'First name: Sarah → Sara',
      'Height: (empty) → 171 cm',
      'Bank account: (erased) → (empty)',
      'Date of birth: May 21, 1994 → (empty)',
      'Permissions: removed: See the audit log; added: Manage roles · Write, edit, and delete their own posts',
      'Identifies as a trainer: no → yes',
      'Status: Pending → Approved',
      'some new field: 1,000 → (changed in the database)',
    ]);
    const { html } = await browser.get(`${PATH}/audit-log?lang=fa`);
    expect(changesOf(html).slice(0, 5)).toEqual([
      'نام: Sarah ← Sara',
      'قد: (خالی) ← ۱۷۱ سانتی‌متر',
      'حساب بانکی: (پاک‌شده) ← (خالی)',
      'تاریخ تولد: ۳۱ اردیبهشت ۱۳۷۳ ← (خالی)',
      'دسترسی‌ها: حذف‌شده: دیدن گزارش اقدامات؛ اضافه‌شده: مدیریت نقش‌ها · نوشتن پست و ویرایش و حذف پست‌های خود',
    ]);
    expect(html).toContain('تغییر مشخصات');
    expect(html).not.toMatch(/user\.update</);
  });

  test('the audit log shows unchanged fields, and fields that were recorded once, as one value', async () => {
    arrange(
      entry({
        action: 'withdrawal.pay',
        subject_type: 'payment',
        before: { user_id: 5, amount: 50_000, note: null, is_done: false, rejected_at: null },
        after: { user_id: 5, amount: 50_000, note: null, is_done: true, rejected_at: AT },
      }),
      entry({
        action: 'document.view',
        subject_type: 'media',
        before: null,
        after: {
          attachable_type: 'App\\Models\\Gyms\\Gym',
          filename: 'a.png',
          purpose: 'gym_license',
          size: 5_043,
        },
      }),
      entry({
        before: { workingPeriods: [{ weekday: 2, opensAt: '08:00', closesAt: '22:00' }] },
        after: null,
      }),
      entry({ before: { content: 'x'.repeat(5_000) }, after: null }),
    );
    const { html } = await (await signIn()).get(`${PATH}/audit-log`);
    expect(changesOf(html)).toEqual([
      `Member: <a href="${PATH}/members/5?lang=en">sara</a><br>Sara Ahmadi`,
      'Amount: 50,000 Tooman',
      'Completed: no → yes',
      'Rejected: (empty) → January 1, 2026 at 00:00 UTC',
      'Belongs to: Gym',
      'File name: a.png',
      'Purpose: gym license',
      'Size in bytes: 5,043',
      'Opening hours: Day: Monday, opens at: 08:00, closes at: 22:00',
      `Text: ${'x'.repeat(200)}…`,
    ]);
  });

  test('the audit log names roles to operators who may read them, and shows ids to others', async () => {
    arrange(
      entry({ action: 'user.assign_roles', before: { role_ids: [1, 2] }, after: { role_ids: [1, 3] } }),
      entry({ action: 'role.update', subject_type: 'role', subject_id: 3 }),
    );
    const roles = [
      [1, 'Member'],
      [2, 'Operator'],
      [3, 'Administrator'],
    ].map(([id, title]) => ({ id, title, name: String(title).toLowerCase(), permissions: [] }));
    replies.set('GET /roles', { status: 200, body: { data: roles, meta: { last_page: 1 } } });
    const browser = await signIn();
    const { html } = await browser.get(`${PATH}/audit-log`);
    expect(changesOf(html)).toEqual(['Roles: removed: Operator; added: Administrator']);
    expect(plain(html)).toContain('Role Administrator');
    const persian = await browser.get(`${PATH}/audit-log?lang=fa`);
    expect(changesOf(persian.html)).toEqual(['نقش‌ها: حذف‌شده: اپراتور؛ اضافه‌شده: مدیر سیستم']);
    expect(plain(persian.html)).toContain('نقش مدیر سیستم');
    gateway.tokens.set(TOKEN, operatorOf(PERMISSIONS.filter((name) => name !== 'roles.manage')));
    const other = await browser.get(`${PATH}/audit-log`);
    expect(changesOf(other.html)).toEqual(['Roles: removed: #2; added: #3']);
  });

  test('a subject has its id in Latin digits, on the page and in the CSV file', async () => {
    arrange(entry({ subject_type: 'payment', subject_id: 1_020 }));
    const browser = await signIn();
    for (const [lang, text] of [
      ['en', 'Payment #1020'],
      ['fa', 'پرداخت 1020'],
    ]) {
      expect(plain((await browser.get(`${PATH}/audit-log?lang=${lang}`)).html)).toContain(text);
      expect((await browser.get(`${PATH}/audit-log.csv?lang=${lang}`)).html).toContain(`"${text}"`);
    }
  });

  test('a name in another script is on a separate line', async () => {
    const data = [{ id: 9, username: 'mina', first_name: 'مینا', last_name: 'راد' }];
    replies.set('GET /users/names', { status: 200, body: { data } });
    const { html } = await (await signIn()).get(`${PATH}/audit-log`);
    expect(html).toContain('<bdi>mina</bdi></a><br><bdi>مینا راد</bdi>');
  });

  test('valid filters are sent to the API and kept in links, and invalid ones are dropped', async () => {
    replies.set('GET /audit-log', { status: 200, body: { data: [entry()], meta: { next_cursor: 'abc' } } });
    const browser = await signIn();
    const { html } = await browser.get(`${PATH}/audit-log?${FILTERS}`);
    expect(auditLogUrls().at(-1)).toBe(`/api/v1/audit-log?${FILTERS}&per_page=30`);
    const query = FILTERS.replaceAll('&', '&amp;');
    expect(html).toContain(`href="${PATH}/audit-log?lang=en&amp;${query}&amp;cursor=abc"`);
    expect(html).toContain(`href="${PATH}/audit-log.csv?lang=en&amp;${query}"`);
    for (const [name, value] of [
      ['actor', '=mina'],
      ['subject', 'sara'],
      ['from', '2026-01-01'],
      ['to', '2026-01-31'],
    ])
      expect(html).toMatch(new RegExp(`name="${name}"[^>]* value="${value}"`));
    for (const wrong of [
      'from=2026-02-30',
      'to=x',
      'subject_type=planet',
      'subject_id=0',
      'action=x',
      'actor_id=-1',
    ]) {
      expect([wrong, (await browser.get(`${PATH}/audit-log?${wrong}`)).status]).toEqual([wrong, 200]);
      expect(auditLogUrls().at(-1)).toBe('/api/v1/audit-log?per_page=30');
    }
  });
});

describe('the filters of the audit log', () => {
  const users = (...names: string[]) => ({
    status: 200,
    body: {
      data: names.map((username, index) => ({ id: index + 7, username })),
      meta: { next_cursor: null },
    },
  });
  const filterBy = async (fields: Record<string, string>, lang = 'en') => {
    const browser = await signIn();
    const page = await browser.get(`${PATH}/audit-log?lang=${lang}`);
    return submit(browser, page, 'filter', fields);
  };

  test('a day is entered in the calendar and time zone of the language, in its digits or Latin ones', async () => {
    for (const [lang, day, from, to] of [
      ['en', '2026-11-27', '2026-11-27 00:00:00', '2026-11-27 23:59:59'],
      ['fa', '۱۴۰۵/۰۹/۰۶', '2026-11-26 20:30:00', '2026-11-27 20:29:59'],
      ['fa', '1405/9/6', '2026-11-26 20:30:00', '2026-11-27 20:29:59'],
    ] as const) {
      const { status, location } = await filterBy({ from: day, to: day }, lang);
      expect([status, location?.pathname]).toEqual([303, `${PATH}/audit-log`]);
      expect(Object.fromEntries(location?.searchParams ?? [])).toEqual({ lang, from, to });
      const shown = await (await signIn()).get(`${location?.pathname}${location?.search}`);
      expect(auditLogUrls().at(-1)).toBe(
        `/api/v1/audit-log?${new URLSearchParams({ from, to })}&per_page=30`,
      );
      const typed = lang === 'en' ? '2026-11-27' : '۱۴۰۵/۰۹/۰۶';
      for (const name of ['from', 'to'])
        expect(shown.html).toMatch(new RegExp(`name="${name}"[^>]* value="${typed}"`));
      expect(shown.html).toContain(lang === 'en' ? '(UTC)' : 'به وقت تهران');
    }
  });

  test('a filter finds a member by id or by username in any case, without personal data in the address', async () => {
    replies.set('GET /users', users('mina2', 'Mina'));
    const byName = await filterBy({ actor: 'mina', subject: ' MINA ', audit_action: 'user.update' });
    expect(byName.location?.search).toBe(
      '?lang=en&action=user.update&actor_id=8&subject_type=user&subject_id=8',
    );
    const byId = await filterBy({ actor: '#12', subject: '34', subject_type: 'gym' });
    expect(byId.location?.search).toBe('?lang=en&actor_id=12&subject_type=gym&subject_id=34');
    const inPersian = await filterBy({ actor: '۱۲', subject: '#۳۴', subject_type: 'gym' });
    expect(inPersian.location?.search).toBe('?lang=en&actor_id=12&subject_type=gym&subject_id=34');
    expect((await filterBy({})).location?.search).toBe('?lang=en');
  });

  test('an invalid filter is reported at its field, keeps its value, and shows no entries', async () => {
    replies.set('GET /users', users('mina2'));
    const page = await filterBy(
      { actor: 'mina', subject: 'x', subject_type: 'gym', from: '2026-11-27', to: '۱۴۰۵/۱۳/۰۱' },
      'fa',
    );
    expect([page.status, changesOf(page.html), page.html.includes('<table')]).toEqual([422, [], false]);
    for (const [name, value, text] of [
      ['actor', 'mina', 'حسابی با این نام کاربری نیست'],
      ['subject', 'x', 'شناسهٔ موضوع را وارد کنید'],
      ['from', '2026-11-27', 'مانند ۱۴۰۵/۰۹/۰۶'],
      ['to', '۱۴۰۵/۱۳/۰۱', 'مانند ۱۴۰۵/۰۹/۰۶'],
    ]) {
      expect(page.html).toMatch(new RegExp(`id="${name}-problem">[^<]*${text}`));
      expect(page.html).toMatch(new RegExp(`name="${name}"[^>]* value="${value}"[^>]* aria-invalid="true"`));
    }
    expect(page.html).toMatch(/<option value="gym" selected>/);
    // Only the first invalid field has the focus. The CSV file is not offered, because its entries would differ from the page.
    expect(page.html.match(/ autofocus/g)).toHaveLength(1);
    expect(page.html).toMatch(/<input name="subject"[^>]* autofocus>/);
    expect(page.html).not.toContain('audit-log.csv');
  });

  test('a name filter does not deny a username while unread users contain it', async () => {
    replies.set('GET /users', { status: 200, body: { data: [], meta: { next_cursor: 'more' } } });
    const page = await filterBy({ actor: 'ali' });
    expect([page.status, page.html.includes('id="actor-problem">Too many usernames')]).toEqual([422, true]);
    const pages = gateway.upstreams.identity.received.filter(({ url }) => url?.includes('/users?search=ali'));
    expect(pages).toHaveLength(10);
  });

  test('an operator who may not search members can filter by id, but not by username', async () => {
    gateway.tokens.set(TOKEN, operatorOf(['audit.view']));
    replies.set('GET /users', { status: 403, body: { message: 'no' } });
    const page = await filterBy({ actor: 'mina' });
    expect([page.status, /id="actor-problem">/.test(page.html)]).toEqual([422, true]);
    expect((await filterBy({ actor: '8' })).location?.search).toBe('?lang=en&actor_id=8');
  });
});

const download = async (query = '', browser = signIn()) =>
  (await browser).get(`${PATH}/audit-log.csv?${query}`);
/** The lines of the file, without the byte order mark and the header. */
const linesOf = (csv: string): string[] => csv.trimEnd().split('\r\n').slice(1);

describe('the file of the audit log', () => {
  test('the audit log file has a line for each changed field, with the filters of the page', async () => {
    arrange(
      entry({ before: { note: null, role_ids: [1] }, after: { note: 'a "b",\nc', role_ids: [1, 2] } }),
      entry({
        id: 2,
        actor_id: null,
        action: 'dead_letters.purge',
        subject_type: 'dead_letters',
        subject_id: null,
      }),
    );
    const { status, headers, html } = await download(FILTERS);
    expect([status, headers.get('content-type'), headers.get('cache-control')]).toEqual([
      200,
      'text/csv; charset=utf-8',
      'no-store',
    ]);
    expect(headers.get('content-disposition')).toBe('attachment; filename="audit-log.csv"');
    expect(auditLogUrls()).toEqual([`/api/v1/audit-log?${FILTERS}&per_page=100`]);
    const words = '"January 1, 2026 at 00:00 UTC","Profile changed","Member sara"';
    expect(linesOf(html)).toEqual([
      `1,"${AT}","identity",9,"'=mina","user.update","user",5,"note","","a ""b"",\nc","r-1",${words},"Note","(empty)","a ""b"",\nc"`,
      `1,"${AT}","identity",9,"'=mina","user.update","user",5,"role_ids","[1]","[1,2]","r-1",${words},"Roles","#1","#1, #2"`,
      `2,"${AT}","identity","","","dead_letters.purge","dead_letters","","","","","r-1","January 1, 2026 at 00:00 UTC","Dead letters deleted","Dead letters","","",""`,
    ]);
  });

  test('the audit log file names every operator and member, even if one page of the log has many', async () => {
    const ids = Array.from({ length: 90 }, (_, index) => index + 100);
    arrange(...ids.map((id) => entry({ id, actor_id: id, subject_id: id + 1_000 })));
    const answer = gateway.upstreams.identity.handler;
    const lengths: number[] = [];
    gateway.upstreams.identity.handler = (request, response) => {
      const url = new URL(request.url ?? '', 'http://identity');
      if (!url.pathname.endsWith('/users/names')) return answer?.(request, response);
      const named = (url.searchParams.get('ids') ?? '').split(',').map(Number);
      lengths.push(named.length);
      response.writeHead(named.length > 100 ? 422 : 200, { 'content-type': 'application/json' });
      response.end(JSON.stringify({ data: named.map((id) => ({ id, username: `name-${id}` })) }));
    };
    const lines = linesOf((await download()).html);
    expect(lines).toHaveLength(90);
    for (const [index, id] of ids.entries()) {
      expect(lines[index]).toContain(`,${id},"name-${id}",`);
      expect(lines[index]).toContain(`"Member name-${id + 1_000}"`);
    }
    expect(lengths.sort()).toEqual([100, 80].sort());
  });

  test.each(['=1+1', '+1', '-1', '@SUM(A1)', '\t=1', '\r=1', '\n=1', '  =1', '＝1', '＋1', '－1', '＠a'])(
    'the value %j is written as text, so that no spreadsheet runs it',
    (value) => {
      expect(csvLine([value])).toBe(`"'${value}"\r\n`);
    },
  );

  test('numbers and harmless texts are written unchanged', () => {
    expect(csvLine([-5, 'a=b', "it's", null, { a: '=1' }])).toBe(`-5,"a=b","it's","","{""a"":""=1""}"\r\n`);
  });

  test('the audit log file has all pages, and its download fails if a page cannot be read', async () => {
    const pages = ['first', 'second', 'third'];
    let failsAt = Number.POSITIVE_INFINITY;
    const answer = gateway.upstreams.identity.handler;
    gateway.upstreams.identity.handler = (request, response) => {
      const url = new URL(request.url ?? '', 'http://identity');
      if (!url.pathname.endsWith('/audit-log')) return answer?.(request, response);
      const at = Number(url.searchParams.get('cursor') ?? 0);
      response.writeHead(at === failsAt ? 503 : 200, { 'content-type': 'application/json' });
      const next_cursor = at + 1 < pages.length ? String(at + 1) : null;
      const data = [entry({ id: at + 1, before: { note: null }, after: { note: pages[at] } })];
      response.end(JSON.stringify({ data, meta: { next_cursor }, message: 'later' }));
    };
    const browser = signIn();
    expect(linesOf((await download('', browser)).html)).toHaveLength(3);
    failsAt = 2;
    await expect(download('', browser)).rejects.toThrow();
    failsAt = 0;
    expect((await download('', browser)).status).toBe(503);
  });

  test('the audit log file requires audit.view and a session of the page', async () => {
    const browser = await signIn();
    gateway.tokens.set(TOKEN, operatorOf(PERMISSIONS.filter((name) => name !== 'audit.view')));
    expect((await download('', Promise.resolve(browser))).status).toBe(403);
    expect((await download('', Promise.resolve(browse()))).status).toBe(401);
    expect(auditLogUrls()).toEqual([]);
  });
});
