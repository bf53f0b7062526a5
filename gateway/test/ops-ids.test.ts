/** Ids on the Persian pages of `/ops`: Latin digits without a number sign, as they are typed, copied and searched for. */

import { SECTIONS } from '@fitness/ops/sections.ts';
import { beforeEach, expect, test } from '@jest/globals';
import { arrangeOps, PATH, replies, STATUS, signIn, submit, WITHDRAWAL } from './ops-support.ts';

arrangeOps();

const AT = '2026-01-01 00:00:00';
const ID = {
  user: 7_005,
  unknownUser: 7_006,
  role: 7_011,
  unknownRole: 7_012,
  gym: 7_021,
  service: 7_022,
  document: 7_031,
  withdrawal: 7_041,
  deposit: 7_042,
  refund: 7_043,
  target: 7_044,
  letterSubject: 7_051,
  auditSubject: 7_061,
} as const;

const USER = {
  ...WITHDRAWAL.user,
  id: ID.user,
  email: 'sara@example.com',
  phone: '+989120000005',
  bank_account_number: null,
  height: null,
  birth_date: null,
  roles: [],
  referrer_user_id: ID.unknownUser,
  referrals_count: 0,
  trainer_license_image: null,
  trainer_license_approved: null,
  deletion_requested_at: AT,
  deletion_scheduled_at: '2026-01-15 00:00:00',
  current_subscription: null,
};
const GYM = {
  id: ID.gym,
  name: null,
  user_id: ID.unknownUser,
  is_active: true,
  gym_license_image: 'a.png',
  gym_license_link: `/api/v1/media/${ID.document}/a.png`,
  gym_license_approved: null,
  created_at: AT,
};
const SERVICE = { id: ID.service, title: 'Course', price: 1, is_active: true, created_at: AT };
const PAYMENT = { ...WITHDRAWAL, id: ID.withdrawal, user_id: ID.user, user: USER };
const DEPOSIT = {
  payment: { ...PAYMENT, id: ID.deposit, type: 'deposit', meta: null },
  track_id: '3714061294',
  reported: { charged_rial: 50_000, ref_number: '998', card_number: '62741****44' },
};
const REFUND = {
  id: ID.refund,
  channel: 'cafebazaar',
  product_id: 'boost_pro',
  purchase_token: 'tok-1',
  user_id: ID.unknownUser,
  boostable_type: 'gym',
  boostable_id: ID.target,
  reason: 'already_running',
  created_at: AT,
};
const LETTER = {
  id: 'e-1',
  type: 'identity.account.deleted',
  subject: String(ID.letterSubject),
  consumer: 'wallet.account.deleted',
  attempts: 7,
  error: 'no such account',
  first_failed_at: '2026-01-01T00:00:00.000Z',
};
const ENTRY = {
  id: 1,
  service: 'wallet',
  action: 'withdrawal.pay',
  actor_id: ID.unknownUser,
  subject_type: 'payment',
  subject_id: ID.auditSubject,
  request_id: null,
  before: { role_ids: [1] },
  after: { role_ids: [1, ID.unknownRole], user_id: ID.user, attachable_id: ID.target },
  created_at: AT,
};

const answer = (path: string, body: object): unknown => replies.set(`GET ${path}`, { status: 200, body });
const list = (path: string, ...data: object[]): unknown =>
  answer(path, { data, meta: { current_page: 1, last_page: 1 } });

beforeEach(() => {
  answer(`/users/${ID.user}`, { user: USER });
  list('/users', USER);
  list('/users/names');
  list('/users/license-reviews', USER);
  list(`/users/${ID.user}/sessions`);
  answer(`/users/${ID.user}/deletion-blockers`, { data: [] });
  list('/roles', { id: ID.role, name: 'reviewer', title: 'Reviewer', permissions: [] });
  answer(`/gyms/${ID.gym}`, { gym: GYM });
  list('/gyms', GYM);
  list('/gyms/license-reviews', GYM);
  list('/training-services', SERVICE);
  list('/payments', PAYMENT);
  answer(`/payments/${ID.withdrawal}`, { payment: PAYMENT });
  list('/payments/hours');
  answer('/payments/prices', { data: { premium: { plus: 99_000 }, boosts: { basic: 49_000, pro: 89_000 } } });
  answer('/payments/balance', { balance: 1_000 });
  list('/payments/deposit/disputed', DEPOSIT);
  list('/payments/store-purchases/refund-queue', REFUND);
  answer('/operations', { ...STATUS, queues: { ...STATUS.queues, dead_letters: 1 } });
  answer('/operations/dead-letters', { data: [LETTER], total: 1 });
  list('/audit-log', ENTRY);
});

/** Every page, with the ids that it shows. */
const PAGES: readonly (readonly [slug: string, address: string, ids: readonly number[]])[] = [
  ['', '', []],
  ['dead-letters', '', [ID.letterSubject]],
  ['withdrawals', '', [ID.withdrawal]],
  ['licenses', '', [ID.gym]],
  ['licenses', `?kind=gym&id=${ID.gym}`, [ID.gym, ID.document, ID.unknownUser]],
  ['disputes', '', [ID.deposit, ID.refund, ID.target, ID.unknownUser]],
  ['deletions', '', []],
  ['users', `?id=${ID.user}`, [ID.user]],
  ['roles', '', []],
  ['audit-log', '', [ID.auditSubject, ID.unknownUser, ID.unknownRole, ID.user, ID.target]],
  ['members', `/${ID.user}`, [ID.user, ID.unknownUser, ID.withdrawal, ID.gym, ID.service]],
  ['members', '/7009', [7_009]],
];

const LATIN: Readonly<Record<string, string>> = Object.fromEntries(
  [...'۰۱۲۳۴۵۶۷۸۹'].map((digit, value) => [digit, String(value)]),
);

/** The text that people see, without attributes. */
const textOf = (html: string): string =>
  html
    .slice(html.indexOf('<main'))
    .replaceAll(/<[^>]*>/g, ' ')
    .replaceAll(/\s+/g, ' ');

const latinIds = (text: string): number[] =>
  [...text.matchAll(/\d+/g)].map(([digits]) =>
    Number(digits.replaceAll(/[۰-۹]/g, (one) => LATIN[one] ?? '')),
  );

/** Ids that are written in Persian digits or after a number sign. */
const faultsIn = (text: string): string[] => {
  const ids = new Set<string>([...Object.values(ID).map(String), '7009']);
  const persian = [...text.matchAll(/[۰-۹][۰-۹٬]*/g)].map(([digits]) => digits);
  const inLatin = (digits: string): string =>
    digits.replaceAll('٬', '').replaceAll(/[۰-۹]/g, (one) => LATIN[one] ?? '');
  return [...persian.filter((digits) => ids.has(inLatin(digits))), ...(text.match(/#\S*/g) ?? [])];
};

test.each(PAGES)(
  'ids on /%s%s are in Latin digits without a number sign in Persian',
  async (slug, rest, ids) => {
    const path = `${PATH}${slug === '' ? '' : `/${slug}`}${rest}`;
    const { status, html } = await (await signIn()).get(`${path}${rest.includes('?') ? '&' : '?'}lang=fa`);
    const text = textOf(html);
    expect([status, faultsIn(text)]).toEqual([200, []]);
    expect(ids.filter((id) => !latinIds(text).includes(id))).toEqual([]);
  },
);

test('every section has a page in the table of ids', () => {
  expect([...new Set(PAGES.map(([slug]) => slug))].sort()).toEqual(SECTIONS.map(({ slug }) => slug).sort());
});

test.each([
  ['withdrawals', 'pay', ID.withdrawal],
  ['withdrawals', 'reject', ID.withdrawal],
  ['disputes', 'credited', ID.deposit],
  ['disputes', 'refunded', ID.refund],
])('the question of /%s to %s has its id in Latin digits in Persian', async (slug, name, id) => {
  const browser = await signIn();
  const page = await submit(browser, await browser.get(`${PATH}/${slug}?lang=fa`), name);
  const text = textOf(page.html);
  expect([page.status, faultsIn(text), latinIds(text).includes(id)]).toEqual([200, [], true]);
});
