/** The audit log of `/ops`: who did what, what changed, and the file with the same. */
import { PERMISSIONS } from '@fitness/shared/kernel/permissions.ts';
import { beforeEach, describe, expect, test } from '@jest/globals';
import { csvLine } from '../src/pages/ops/audit-csv.ts';
import { arrangeOps, browse, gateway, operatorOf, PATH, replies, signIn, TOKEN } from './ops-support.ts';

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
  arrange(entry());
});

const asked = (): string[] =>
  gateway.upstreams.identity.received
    .map(({ url }) => String(url))
    .filter((url) => url.includes('/audit-log'));
const FILTERS = 'action=user.update&actor_id=9&subject_type=user&subject_id=5&from=2026-01-01&to=2026-01-31';

describe('the audit log', () => {
  test('shows each change as before and after, in words for what is no text', async () => {
    arrange(
      entry({
        before: { first_name: 'Sarah', height: null, birth_date: { erased: true }, permissions: ['a', 'b'] },
        after: { first_name: 'Sara', height: 171, birth_date: null, permissions: ['b', 'c'] },
      }),
    );
    const browser = await signIn();
    const text = (html: string): string => html.replaceAll(/[\u2066-\u2069]/g, '');
    const { html } = await browser.get(`${PATH}/audit-log`);
    for (const change of [
      'first_name: Sarah → Sara',
      'height: nothing → 171',
      'birth_date: (erased) → nothing',
      'permissions: −a +c',
    ])
      expect(text(html)).toContain(`<li>${change}</li>`);
    const persian = await browser.get(`${PATH}/audit-log?lang=fa`);
    expect(text(persian.html)).toContain('<li>first_name: از Sarah به Sara</li>');
  });

  test('shows what has not changed, and what was recorded once, as one value', async () => {
    arrange(
      entry({
        before: { amount: 5, note: null, is_done: false },
        after: { amount: 5, note: null, is_done: true },
      }),
      entry({ before: null, after: { filename: 'a.png' } }),
      entry({ before: { name: 'Iron' }, after: null }),
    );
    const { html } = await (await signIn()).get(`${PATH}/audit-log`);
    const lines = [...html.replaceAll(/[\u2066-\u2069]/g, '').matchAll(/<li>([a-z_]+: [^<]*)<\/li>/g)];
    expect(lines.map(([, line]) => line)).toEqual([
      'amount: 5',
      'is_done: false → true',
      'filename: a.png',
      'name: Iron',
    ]);
  });

  test('asks for what its filters say, leaves out what is no filter, and keeps them in its links', async () => {
    replies.set('GET /audit-log', { status: 200, body: { data: [entry()], meta: { next_cursor: 'abc' } } });
    const browser = await signIn();
    const { html } = await browser.get(`${PATH}/audit-log?${FILTERS}`);
    expect(asked().at(-1)).toBe(`/api/v1/audit-log?${FILTERS}&per_page=30`);
    const query = FILTERS.replaceAll('&', '&amp;');
    expect(html).toContain(`href="${PATH}/audit-log?lang=en&amp;${query}&amp;cursor=abc"`);
    expect(html).toContain(`href="${PATH}/audit-log.csv?lang=en&amp;${query}"`);
    expect(html).toContain('name="from" type="date" value="2026-01-01"');
    for (const wrong of [
      'from=2026-02-30',
      'to=x',
      'subject_type=planet',
      'subject_id=0',
      'action=x',
      'actor_id=-1',
    ]) {
      expect([wrong, (await browser.get(`${PATH}/audit-log?${wrong}`)).status]).toEqual([wrong, 200]);
      expect(asked().at(-1)).toBe('/api/v1/audit-log?per_page=30');
    }
  });
});

const download = async (query = '', browser = signIn()) =>
  (await browser).get(`${PATH}/audit-log.csv?${query}`);
/** Without the byte order mark and the head. */
const linesOf = (csv: string): string[] => csv.trimEnd().split('\r\n').slice(1);

describe('the file of the audit log', () => {
  test('has a line for each changed field, for the filters of the page', async () => {
    arrange(
      entry({ before: { note: null, roles: [1] }, after: { note: 'a "b",\nc', roles: [1, 2] } }),
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
    expect(asked()).toEqual([`/api/v1/audit-log?${FILTERS}&per_page=100`]);
    expect(linesOf(html)).toEqual([
      `1,"${AT}","identity",9,"'=mina","user.update","user",5,"note","","a ""b"",\nc","r-1"`,
      `1,"${AT}","identity",9,"'=mina","user.update","user",5,"roles","[1]","[1,2]","r-1"`,
      `2,"${AT}","identity","","","dead_letters.purge","dead_letters","","","","","r-1"`,
    ]);
  });

  test.each(['=1+1', '+1', '-1', '@SUM(A1)', '\t=1', '\r=1', '\n=1', '  =1', '＝1', '＋1', '－1', '＠a'])(
    'has %j as text, which no spreadsheet runs',
    (value) => {
      expect(csvLine([value])).toBe(`"'${value}"\r\n`);
    },
  );

  test('keeps numbers and harmless texts as they are', () => {
    expect(csvLine([-5, 'a=b', "it's", null, { a: '=1' }])).toBe(`-5,"a=b","it's","","{""a"":""=1""}"\r\n`);
  });

  test('has all pages of the log, and ends broken when one cannot be read', async () => {
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

  test('is for operators with audit.view and a session of the page', async () => {
    const browser = await signIn();
    gateway.tokens.set(TOKEN, operatorOf(PERMISSIONS.filter((name) => name !== 'audit.view')));
    expect((await download('', Promise.resolve(browser))).status).toBe(403);
    expect((await download('', Promise.resolve(browse()))).status).toBe(401);
    expect(asked()).toEqual([]);
  });
});
