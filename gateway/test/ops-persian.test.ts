/** `/ops` in Persian: texts have Persian digits, and values to copy have Latin ones. */
import { expect, test } from '@jest/globals';
import { arrangeOps, PATH, replies, STATUS, signIn, WITHDRAWAL } from './ops-support.ts';

arrangeOps();

const LETTER = {
  id: 'e-1',
  type: 'identity.account.deleted',
  subject: '12',
  consumer: 'wallet.account.deleted',
  attempts: 7,
  error: 'no such account',
  first_failed_at: '2026-01-01T00:00:00.000Z',
};
const DEPOSIT = {
  payment: { ...WITHDRAWAL, id: 1_041, type: 'deposit', meta: null },
  track_id: '3714061294',
  reported: { charged_rial: 50_000, ref_number: '998', card_number: '62741****44' },
};
const REFUND = {
  id: 1_051,
  channel: 'cafebazaar',
  product_id: 'premium_plus',
  purchase_token: 'tok-1',
  user_id: 5,
  boostable_type: null,
  boostable_id: null,
  reason: 'target_gone',
  created_at: '2026-01-01 00:00:00',
};
const USER = {
  ...WITHDRAWAL.user,
  deletion_requested_at: '2026-01-01 00:00:00',
  deletion_scheduled_at: '2026-01-15 00:00:00',
};

const list = (...data: object[]) => ({
  status: 200,
  body: { data, meta: { current_page: 2, last_page: 3, total: 65 } },
});

const arrange = (): void => {
  const queues = { waiting: 1_234, retrying: 3, dead_letters: 101 };
  replies.set('GET /operations', { status: 200, body: { ...STATUS, queues } });
  replies.set('GET /operations/dead-letters', { status: 200, body: { data: [LETTER], total: 101 } });
  replies.set('GET /payments/hours', { status: 200, body: { data: [] } });
  replies.set('GET /payments/prices', {
    status: 200,
    body: { data: { premium: { plus: 99_000 }, boosts: { basic: 49_000, pro: 89_000 } } },
  });
  replies.set('GET /payments', list({ ...WITHDRAWAL, id: 1_031 }));
  replies.set('GET /payments/deposit/disputed', list(DEPOSIT));
  replies.set('GET /payments/balance', { status: 200, body: { balance: 1_000 } });
  replies.set('GET /payments/store-purchases/refund-queue', list(REFUND));
  replies.set('GET /users', list(USER));
};

/** The texts of a page, without names and codes, which are isolated or marked, and without words in Latin letters. */
const readTexts = (page: string): string[] =>
  page
    .slice(page.indexOf('<main'))
    .replaceAll(/<(\w+) [^>]*class="(?:code|whole)\b[^>]*>[^<۰-۹]*<\/\1>/g, '')
    .replaceAll(/\u2068[^\u2069]*\u2069/g, '')
    .split(/<[^>]*>/)
    .map((text) => text.replaceAll(/[\w@.:/-]*[A-Za-z][\w@.:/-]*/g, '').trim());

const latinIn = (page: string): string[] => readTexts(page).filter((text) => /\d/.test(text));

test.each(['', '/withdrawals', '/disputes', '/deletions', '/dead-letters'])(
  'numbers, amounts and times are in Persian digits on %s',
  async (path) => {
    arrange();
    const { status, html } = await (await signIn()).get(`${PATH}${path}?lang=fa`);
    expect([status, latinIn(html)]).toEqual([200, []]);
    expect(html).not.toMatch(/>[^<]*\(UTC\)/);
  },
);

test('an account number is in Latin digits, in one piece, with a button that copies it', async () => {
  arrange();
  const { html } = await (await signIn()).get(`${PATH}/withdrawals?lang=fa`);
  const account = WITHDRAWAL.meta.bank_account_number;
  expect(html).toContain(`<span class="code whole" dir="ltr">${account}</span>`);
  expect(html).toContain(`<button type="button" hidden data-copy="${account}"`);
});

test('the hours of the chart are in the time zone of the language', async () => {
  arrange();
  const browser = await signIn();
  const hoursOf = async (locale: string): Promise<string[]> => {
    const { html } = await browser.get(`${PATH}?lang=${locale}`);
    return [...html.matchAll(/<g><title>([^:]+:[^:]+):/g)].map(([, hour = '']) => hour);
  };
  const [english, persian] = [await hoursOf('en'), await hoursOf('fa')];
  expect(english.every((hour) => /^\d\d:00$/.test(hour))).toBe(true);
  // Tehran is three and a half hours ahead of UTC.
  expect(persian.every((hour) => /^[۰-۹]{2}:۳۰$/.test(hour))).toBe(true);
});

test.each([
  ['en', 'yesterday 11:00', 'now'],
  ['fa', 'دیروز ۱۴:۳۰', 'اکنون'],
])('the chart goes from a time with its day to the present in %s', async (lang, begin, end) => {
  arrange();
  const { html } = await (await signIn()).get(`${PATH}?lang=${lang}`);
  expect(html).toContain(`<bdi>${begin}</bdi><bdi>${end}</bdi>`);
});
