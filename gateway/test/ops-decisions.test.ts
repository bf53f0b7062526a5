/** Decisions about money and rights on `/ops`, which are executed only as they were confirmed. */
import { PERMISSIONS } from '@fitness/shared/kernel/permissions.ts';
import type { Browser, BrowserPage } from '@fitness/shared/testing/browser.ts';
import { beforeEach, describe, expect, test } from '@jest/globals';
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

const CREATED = '2026-01-01 00:00:00';
const ACCOUNT = 'IR062960000000100324200001';
const DEPOSIT = {
  payment: { ...WITHDRAWAL, id: 41, type: 'deposit', amount: 70_000, meta: null },
  track_id: 'track-41',
  reported: { charged_rial: 50_000, ref_number: '998', card_number: '62741****44' },
};
const REFUND = {
  id: 51,
  channel: 'cafebazaar',
  product_id: 'premium_1',
  user_id: 5,
  reason: 'target_gone',
  created_at: CREATED,
};
const MEMBER = { id: 1, name: 'member', title: 'Member', permissions: ['posts.view'] };
const OPERATOR = { id: 2, name: 'operator', title: 'Operator', permissions: ['posts.view', 'audit.view'] };
const USER = {
  id: 5,
  username: 'sara',
  first_name: 'Sara',
  last_name: 'Ahmadi',
  email: 'sara@example.com',
  phone: '+989120000009',
  created_at: CREATED,
  roles: [MEMBER],
};

const GYM = {
  id: 4,
  name: 'Iron House',
  user_id: 5,
  gym_license_image: 'license.png',
  gym_license_link: '/api/v1/media/7/license.png',
  gym_license_approved: null,
};

const answer = (body: object, status = 200) => ({ status, body });

interface Case {
  name: string;
  slug: string;
  /** Fields of the first step besides the hidden ones. */
  chosen?: Record<string, string>;
  text?: Record<string, string>;
  /** Texts that the confirmation repeats. */
  shown: string[];
  button: string;
  call: string;
  /** Changes the state of the item. */
  change: () => void;
  isMandatory?: boolean;
}

const open = (list: string, row: object) => replies.set(`GET ${list}`, answer({ data: [row], meta: {} }));

const CASES: Case[] = [
  {
    name: 'pay',
    slug: 'withdrawals',
    text: { reference: 'PAYA-7' },
    shown: ['sara', 'Sara Ahmadi', '50,000 Tooman', ACCOUNT],
    button: 'Mark 50,000 Tooman as paid',
    call: 'wallet POST /payments/31/pay {"reference":"PAYA-7","take_over":false}',
    change: () => replies.set('GET /payments/31', answer({ payment: { ...WITHDRAWAL, amount: 51_000 } })),
    isMandatory: true,
  },
  {
    name: 'reject',
    slug: 'withdrawals',
    text: { reason: 'Closed account' },
    shown: ['sara', '50,000 Tooman', ACCOUNT],
    button: 'Reject withdrawal of 50,000 Tooman',
    call: 'wallet POST /payments/31/reject {"reason":"Closed account","take_over":false}',
    change: () =>
      replies.set(
        'GET /payments/31',
        answer({ payment: { ...WITHDRAWAL, meta: { bank_account_number: 'IR99' } } }),
      ),
    isMandatory: true,
  },
  {
    name: 'credited',
    slug: 'disputes',
    text: { note: 'By phone' },
    shown: [
      ...['sara', '70,000 Tooman', '5,000 Tooman', '62741****44'],
      ...['65,000 Tooman more than was charged', '71,000 Tooman'],
    ],
    button: 'Add 70,000 Tooman to the balance',
    call: 'wallet POST /payments/41/resolve {"outcome":"credited","note":"By phone"}',
    change: () =>
      open('/payments/deposit/disputed', { ...DEPOSIT, payment: { ...DEPOSIT.payment, amount: 71_000 } }),
    isMandatory: true,
  },
  {
    name: 'returned',
    slug: 'disputes',
    text: { note: 'Sent back' },
    shown: ['sara', '70,000 Tooman', '5,000 Tooman'],
    button: 'Mark 5,000 Tooman as returned',
    call: 'wallet POST /payments/41/resolve {"outcome":"returned","note":"Sent back"}',
    change: () =>
      open('/payments/deposit/disputed', { ...DEPOSIT, payment: { ...DEPOSIT.payment, user_id: 6 } }),
    isMandatory: true,
  },
  {
    name: 'refunded',
    slug: 'disputes',
    text: { note: 'In the store' },
    shown: ['#5', 'premium_1', 'Cafe Bazaar'],
    button: 'Mark premium_1 as refunded',
    call: 'store-billing POST /payments/store-purchases/refund-queue/51/resolve {"outcome":"refunded","note":"In the store"}',
    change: () => open('/payments/store-purchases/refund-queue', { ...REFUND, product_id: 'premium_2' }),
    isMandatory: true,
  },
  {
    name: 'granted',
    slug: 'disputes',
    text: { note: 'Paid' },
    shown: ['#5', 'premium_1'],
    button: 'Activate premium_1',
    call: 'store-billing POST /payments/store-purchases/refund-queue/51/resolve {"outcome":"granted","note":"Paid"}',
    change: () => open('/payments/store-purchases/refund-queue', { ...REFUND, user_id: 6 }),
    isMandatory: true,
  },
  {
    name: 'save_roles',
    slug: 'users?id=5',
    chosen: { role_1: 'on', role_2: 'on' },
    shown: ['sara@example.com', '+989120000009', 'Operator', 'audit.view'],
    button: 'Add Operator',
    call: 'identity PUT /users/5 {"role_ids":[1,2]}',
    change: () => replies.set('GET /users/5', answer({ user: { ...USER, roles: [] } })),
  },
  {
    name: 'remove_second_factor',
    slug: 'users?id=5',
    shown: ['sara@example.com', '+989120000009'],
    button: 'Turn off two-factor authentication and end all sessions',
    call: 'identity DELETE /users/5/second-factor',
    change: () => replies.set('GET /users/5', answer({ user: { ...USER, username: 'another' } })),
  },
  {
    name: 'approve',
    slug: 'licenses?kind=gym&id=4',
    shown: ['Iron House', '#5', 'Pending', '>7<', 'The member is notified.'],
    button: 'Approve the license',
    call: 'gyms PUT /gyms/4 {"gym_license_approved":true,"gym_license_media_id":7}',
    change: () => replies.set('GET /gyms/4', answer({ gym: { ...GYM, name: 'Another house' } })),
  },
  {
    name: 'reject',
    slug: 'licenses?kind=gym&id=4',
    text: { reason: 'Not readable' },
    shown: ['Iron House', '#5', 'Pending', '>7<', 'is notified of the reason.'],
    button: 'Reject the license',
    call: 'gyms PUT /gyms/4 {"gym_license_approved":false,"gym_license_media_id":7,"gym_license_rejection_reason":"Not readable"}',
    change: () => replies.set('GET /gyms/4', answer({ gym: { ...GYM, gym_license_approved: true } })),
    isMandatory: true,
  },
];

beforeEach(() => {
  open('/payments/deposit/disputed', DEPOSIT);
  open('/payments/store-purchases/refund-queue', REFUND);
  replies.set('GET /payments/41', answer({ payment: DEPOSIT.payment }));
  replies.set('POST /payments/41/resolve', answer({}));
  replies.set('POST /payments/store-purchases/refund-queue/51/resolve', answer({}));
  replies.set('GET /users/5', answer({ user: USER }));
  replies.set('GET /roles', answer({ data: [MEMBER, OPERATOR], meta: {} }));
  replies.set('PUT /users/5', answer({}));
  replies.set('DELETE /users/5/second-factor', { status: 204 });
  replies.set('GET /payments/balance', answer({ balance: 1_000 }));
  replies.set('GET /gyms/4', answer({ gym: GYM }));
  replies.set('GET /gyms/license-reviews', answer({ data: [], meta: {} }));
  replies.set('PUT /gyms/4', answer({}));
});

const writes = (): string[] =>
  calls.filter((call) => / (?:POST|PUT|DELETE) \/(?:payments|users|gyms)/.test(call));
const pageOf = async ({ slug }: Case): Promise<[Browser, BrowserPage]> => {
  const browser = await signIn();
  return [browser, await browser.get(`${PATH}/${slug}`)];
};

test.each(CASES)(
  '$name on $slug is shown with its details first, and executed by a second form if nothing has changed',
  async (decision) => {
    const { name, chosen = {}, text = {}, shown, button, call, change, isMandatory = false } = decision;
    const [browser, page] = await pageOf(decision);
    const confirmation = await submit(browser, page, name, chosen);
    expect([confirmation.status, writes()]).toEqual([200, []]);
    for (const part of shown) expect(confirmation.html).toContain(part);
    expect(confirmation.html.match(/<button name="action" value="confirm_/g)).toHaveLength(1);
    expect(confirmation.html).toMatch(new RegExp(`value="confirm_${name}"[^>]*>${button}</button>`));
    change();
    const again = await submit(browser, confirmation, `confirm_${name}`, text);
    expect([again.status, again.html.includes('Check it again'), writes()]).toEqual([200, true, []]);
    let last = again;
    if (isMandatory) {
      const [field = ''] = Object.keys(text);
      last = await submit(browser, again, `confirm_${name}`, { [field]: '  ' });
      expect([last.status, writes()]).toEqual([422, []]);
      expect(last.html).toMatch(
        new RegExp(
          `<(?:textarea|input) name="${field}"[^>]* aria-invalid="true" aria-describedby="${field}-problem"`,
        ),
      );
      expect(last.html).toMatch(
        new RegExp(`id="${field}-problem">Enter (?:a reason|a note|the bank reference)`),
      );
    }
    const done = await submit(browser, last, `confirm_${name}`, text);
    expect([done.status, writes()]).toEqual([303, [call]]);
  },
);

/** A decision with a text, and one with a choice. */
describe.each([CASES[0] as Case, CASES[6] as Case])('$name on $slug', (decision) => {
  const { name, chosen = {}, text = {} } = decision;

  test('a decision without the first step is not executed, whatever is posted', async () => {
    const [browser, page] = await pageOf(decision);
    for (const mark of [{}, { shown: '' }, { shown: 'x'.repeat(43) }]) {
      const fields = { ...chosen, ...text, ...mark };
      const form = page.html.split('<form ').find((part) => part.includes(`value="${name}"`)) ?? '';
      const hidden = [...form.matchAll(/<input type="hidden" name="([^"]*)" value="([^"]*)">/g)];
      const all = Object.fromEntries(hidden.map(([, key, value]) => [key, value ?? '']));
      const answered = await browser.post(`${PATH}/${decision.slug}`, {
        ...all,
        ...fields,
        action: `confirm_${name}`,
      });
      expect([answered.status, answered.html.includes('Check it again')]).toEqual([200, true]);
    }
    expect(writes()).toEqual([]);
  });

  test('a decision can be confirmed only by the session that began it', async () => {
    const [browser, page] = await pageOf(decision);
    const confirmation = await submit(browser, page, name, chosen);
    const mark = /name="shown" value="([^"]*)"/.exec(confirmation.html)?.[1] ?? '';
    expect(mark).toMatch(/^[\w-]{43}$/);
    gateway.tokens.set('fps_other', operatorOf(PERMISSIONS));
    const other = await signIn('fps_other');
    // Even with its own CSRF token.
    const csrf = /name="csrf" value="([^"]*)"/.exec((await other.get(PATH)).html)?.[1] ?? '';
    expect((await submit(other, confirmation, `confirm_${name}`, text)).status).toBe(403);
    expect((await submit(other, confirmation, `confirm_${name}`, { ...text, csrf })).status).toBe(200);
    expect(writes()).toEqual([]);
  });
});

test('a confirmation is not valid for another item or another decision', async () => {
  const [browser, page] = await pageOf(CASES[0] as Case);
  const confirmation = await submit(browser, page, 'pay');
  replies.set('GET /payments/32', answer({ payment: { ...WITHDRAWAL, id: 32, amount: 9_000_000 } }));
  const other = await submit(browser, confirmation, 'confirm_pay', { payment_id: '32' });
  expect([other.status, other.html.includes('9,000,000 Tooman')]).toEqual([200, true]);
  const fields = {
    csrf: /name="csrf" value="([^"]*)"/.exec(confirmation.html)?.[1] ?? '',
    shown: /name="shown" value="([^"]*)"/.exec(confirmation.html)?.[1] ?? '',
  };
  const rejected = await browser.post(`${PATH}/withdrawals`, {
    ...fields,
    payment_id: '31',
    reason: 'no',
    action: 'confirm_reject',
  });
  expect([rejected.status, writes()]).toEqual([200, []]);
});

test('a role that was not shown is not assigned', async () => {
  const [browser, page] = await pageOf(CASES[6] as Case);
  const confirmation = await submit(browser, page, 'save_roles', { role_1: 'on', role_2: 'on' });
  const form = await submit(browser, confirmation, 'confirm_save_roles', { role_3: 'on' });
  expect([form.status, writes()]).toEqual([200, []]);
});

test('an API error about the text is shown at its field, which keeps the text', async () => {
  const errors = { reference: ['The format is wrong.'] };
  replies.set('POST /payments/31/pay', { status: 422, body: { errors } });
  const [browser, page] = await pageOf(CASES[0] as Case);
  const refused = await decide(browser, page, 'pay', { reference: '‮7' });
  expect(refused.status).toBe(422);
  expect(refused.html).toContain('id="reference-problem">The format is wrong.');
  expect(refused.html).toMatch(/name="reference"[^>]* value="‮7"[^>]* aria-describedby="reference-problem"/);
  expect(refused.html.split('The format is wrong.')).toHaveLength(2);
});

test('an API error about the reason of a rejected license is shown at its field', async () => {
  const errors = { gym_license_rejection_reason: ['It is too long.'] };
  replies.set('PUT /gyms/4', { status: 422, body: { errors } });
  const [browser, page] = await pageOf(CASES[9] as Case);
  const refused = await decide(browser, page, 'reject', { reason: 'x' });
  expect([refused.status, refused.html.includes('id="reason-problem">It is too long.')]).toEqual([422, true]);
});

test.each([
  ['pay', 0, '/payments/31'],
  ['reject', 9, '/gyms/4'],
])(
  '%s of a record that cannot be read is a 503, and never says that it is gone',
  async (name, index, path) => {
    const [browser, page] = await pageOf(CASES[index] as Case);
    replies.set(`GET ${path}`, answer({ message: 'later' }, 503));
    expect((await submit(browser, page, name)).status).toBe(503);
    replies.delete(`GET ${path}`);
    expect((await submit(browser, page, name)).status).toBe(404);
  },
);

test('the link that cancels a decision stands beside its button', async () => {
  const [browser, page] = await pageOf(CASES[1] as Case);
  const { html } = await submit(browser, page, 'reject');
  expect(html).toMatch(
    /<div class="actions row">\s*<button [^>]*value="confirm_reject"[^>]*>[^<]*<\/button>\s*<a class="button" [^>]*>Cancel<\/a><\/div>/,
  );
});

test('a reason keeps its lines when it is refused', async () => {
  replies.set('POST /payments/31/reject', { status: 422, body: { errors: { reason: ['It is too long.'] } } });
  const [browser, page] = await pageOf(CASES[1] as Case);
  const refused = await decide(browser, page, 'reject', { reason: '\nclosed\naccount' });
  expect(refused.html).toMatch(/<textarea name="reason"[^>]*>\n\nclosed\naccount<\/textarea>/);
});

test('a refund shows the current price, and can be decided while the wallet is lost', async () => {
  open('/payments/store-purchases/refund-queue', { ...REFUND, product_id: 'premium_plus' });
  const prices = { premium: { plus: 99_000 }, boosts: { basic: 1, pro: 2 } };
  replies.set('GET /payments/prices', answer({ data: prices }));
  const browser = await signIn();
  const shown = await browser.get(`${PATH}/disputes`);
  expect(shown.html).toContain('99,000 Tooman');
  expect(shown.html).toContain('Mark Plus subscription, one month as refunded');
  for (const loss of [
    () => replies.set('GET /payments/prices', answer({ message: 'later' }, 503)),
    () => {
      const { wallet } = gateway.upstreams;
      const { handler } = wallet;
      wallet.handler = (request, response) =>
        request.url?.endsWith('/prices') ? response.destroy() : handler?.(request, response);
    },
  ]) {
    loss();
    const { status, html } = await browser.get(`${PATH}/disputes`);
    expect([status, html.includes('<dd>Not available at the moment</dd>')]).toEqual([200, true]);
    expect(html).toContain('Mark Plus subscription, one month as refunded');
    const confirmation = await submit(browser, shown, 'refunded');
    expect(confirmation.html).toContain('Not available at the moment');
  }
});

test('disputes show the purchases to refund while the wallet does not answer', async () => {
  replies.set('GET /payments/deposit/disputed', answer({ message: 'later' }, 503));
  const { status, html } = await (await signIn()).get(`${PATH}/disputes`);
  // The deposits, and the balances of erased accounts.
  expect([status, html.split('a service is not responding').length]).toEqual([200, 3]);
  expect(html).toContain('Purchase 51');
});

test('a list has no primary button, and irreversible actions look dangerous', async () => {
  for (const slug of ['withdrawals', 'disputes', 'users?id=5']) {
    const { html } = await (await signIn()).get(`${PATH}/${slug}`);
    const content = html.slice(html.indexOf('id="content"'));
    const buttons = [
      ...content.matchAll(/<div class="(actions )?row">\s*<button name="action" value="(\w+)"/g),
    ];
    const main = buttons.flatMap(([, isMain, name]) => (isMain === undefined ? [] : [name]));
    expect([slug, main]).toEqual([slug, slug === 'users?id=5' ? ['save_roles'] : []]);
    for (const name of ['reject', 'credited', 'granted', 'remove_second_factor'])
      if (content.includes(`value="${name}"`)) expect(content).toContain(`value="${name}" class="danger"`);
  }
});

test.each([
  [900_000, '20,000 Tooman less than was charged'],
  [700_000, undefined],
  [null, undefined],
])('a credit of 70,000 Tooman after %p Rial were charged names the difference %p', async (rial, text) => {
  open('/payments/deposit/disputed', { ...DEPOSIT, reported: { ...DEPOSIT.reported, charged_rial: rial } });
  const [browser, page] = await pageOf(CASES[2] as Case);
  const { html } = await submit(browser, page, 'credited');
  expect(/<strong>([^<]*than was charged)/.exec(html)?.[1]).toBe(text);
});

test('a member’s roles appear once: as checkboxes, or as text if the operator cannot change them', async () => {
  const browser = await signIn();
  const isText = async () => (await browser.get(`${PATH}/users?id=5`)).html.includes('<dt>Roles</dt>');
  expect(await isText()).toBe(false);
  gateway.tokens.set(TOKEN, operatorOf(['users.view_all']));
  expect(await isText()).toBe(true);
});

test('a notice reports only what was really done', async () => {
  const browser = await signIn();
  const noticeAt = async (path: string): Promise<string | undefined> =>
    /<p class="notice good" role="status">([^<]*)</.exec((await browser.get(`${PATH}/${path}`)).html)?.[1];
  const bodies = { payment: { ...WITHDRAWAL, rejected_at: CREATED } };
  expect(await noticeAt('withdrawals?done=rejected&payment=31')).toBeUndefined();
  replies.set('GET /payments/31', answer(bodies));
  expect(await noticeAt('withdrawals?done=rejected&payment=31')).toBe(
    'Withdrawal 31 of 50,000 Tooman was rejected.',
  );
  expect(await noticeAt('withdrawals?done=paid&payment=31')).toBeUndefined();
  const meta = { resolution: { outcome: 'returned' } };
  replies.set('GET /payments/41', answer({ payment: { ...DEPOSIT.payment, meta } }));
  expect(await noticeAt('disputes?done=returned&payment=41')).toBe(
    'Deposit 41 of 70,000 Tooman was marked as returned.',
  );
  expect(await noticeAt('disputes?done=credited&payment=41')).toBeUndefined();
  expect(await noticeAt('disputes?done=granted&refund=51')).toBeUndefined();
  expect(await noticeAt('disputes?done=granted&refund=52')).toBe('Purchase 52 was activated.');
  expect(await noticeAt('dead-letters?done=replayed&of=wallet&event=e-1')).toBe(
    'Event e-1 is back in the queue of wallet.',
  );
  expect(await noticeAt('dead-letters?done=replayed&of=wallet&event=Call%20us')).toBeUndefined();
});

describe('decisions made in the meantime', () => {
  const settle = (fields: object): void => {
    replies.set('GET /payments/31', answer({ payment: { ...WITHDRAWAL, ...fields } }));
  };
  const PAID = 'Withdrawal 31 of 50,000 Tooman was marked as paid.';

  test.each([
    ['pay', { is_done: true }, PAID],
    ['pay', { rejected_at: CREATED }, 'Withdrawal 31 of 50,000 Tooman was rejected.'],
    ['reject', { is_done: true }, PAID],
  ])('an operator is not asked to %s a withdrawal that has %j', async (name, fields, text) => {
    const [browser, page] = await pageOf(CASES[0] as Case);
    settle(fields);
    const shown = await submit(browser, page, name);
    expect([shown.status, shown.html.includes(text)]).toEqual([200, true]);
    expect(shown.html).not.toContain(`value="confirm_${name}"`);
    expect(shown.html).not.toContain('bank transfer first');
    expect(writes()).toEqual([]);
  });

  const settledBy = (outcome: string, more: object) => ({
    status: 409,
    body: { code: 'payments.already_settled', settled_by: 8, settled_at: CREATED, outcome, ...more },
  });

  test('a second click on a decision is answered like the first one, because the API says that it is a repeat', async () => {
    const [browser, page] = await pageOf(CASES[0] as Case);
    const confirmation = await submit(browser, page, 'pay');
    settle({ is_done: true });
    const again = await submit(browser, confirmation, 'confirm_pay', { reference: 'PAYA-8' });
    expect([again.status, again.location?.search]).toEqual([303, '?lang=en&payment=31&done=paid']);
    expect(writes()).toEqual(['wallet POST /payments/31/pay {"reference":"PAYA-8","take_over":false}']);
  });

  test('a payment with another reference gets a page with who has paid, and with which one', async () => {
    const [browser, page] = await pageOf(CASES[0] as Case);
    const confirmation = await submit(browser, page, 'pay');
    settle({ is_done: true });
    replies.set('POST /payments/31/pay', settledBy('paid', { reference: '1111' }));
    const { status, html } = await submit(browser, confirmation, 'confirm_pay', { reference: '2222' });
    expect(status).toBe(409);
    expect(html).toMatch(
      /Already marked as paid by .*#8.* at .* with reference .*1111.*\. You entered .*2222.*: was money sent twice\?/,
    );
    expect(html).not.toContain('value="confirm_pay"');
  });

  test.each([
    [2, 'credited', '41', 'Already credited by'],
    [4, 'refunded', '51', 'Already marked as refunded by'],
  ])(
    'a resolution with another note gets a page with who closed it: %i',
    async (index, outcome, id, text) => {
      const one = CASES[index] as Case;
      const [browser, page] = await pageOf(one);
      const confirmation = await submit(browser, page, one.name);
      const path = id === '41' ? '/payments/41/resolve' : '/payments/store-purchases/refund-queue/51/resolve';
      // What the API answers once it is resolved.
      if (id === '51')
        replies.set('GET /payments/store-purchases/refund-queue', answer({ data: [], meta: {} }));
      else {
        replies.set('GET /payments/deposit/disputed', answer({ data: [], meta: {} }));
        const meta = { resolution: { outcome } };
        replies.set('GET /payments/41', answer({ payment: { ...DEPOSIT.payment, meta } }));
      }
      replies.set(`POST ${path}`, settledBy(outcome, { note: 'By phone' }));
      const { status, html } = await submit(browser, confirmation, `confirm_${one.name}`, {
        note: 'By mail',
      });
      expect([status, writes().length]).toEqual([409, 1]);
      expect(html).toContain(text);
      expect(html).toMatch(/By phone.*You entered .*By mail/);
    },
  );

  test('an approved license is not approved again, and a second click is answered like the first', async () => {
    const [browser, page] = await pageOf(CASES[8] as Case);
    const confirmation = await submit(browser, page, 'approve');
    replies.set('GET /gyms/4', answer({ gym: { ...GYM, gym_license_approved: true } }));
    const again = await submit(browser, confirmation, 'confirm_approve');
    expect([again.status, again.location?.search]).toEqual([303, '?lang=en&of=gym&owner=4&done=approved']);
    const shown = await submit(browser, page, 'approve');
    expect(shown.html).toContain('License approved.');
    expect(shown.html).not.toContain('value="confirm_approve"');
    expect(writes()).toEqual([]);
  });

  test('an operator is not asked to return a deposit that was credited', async () => {
    const [browser, page] = await pageOf(CASES[2] as Case);
    replies.set('GET /payments/deposit/disputed', answer({ data: [], meta: {} }));
    const meta = { resolution: { outcome: 'credited' } };
    replies.set('GET /payments/41', answer({ payment: { ...DEPOSIT.payment, meta } }));
    const shown = await submit(browser, page, 'returned');
    expect(shown.html).toContain('Deposit 41 of 70,000 Tooman was added to the balance.');
    expect(shown.html).not.toContain('value="confirm_returned"');
  });

  test('a decision on an undisputed deposit returns 404', async () => {
    const [browser, page] = await pageOf(CASES[2] as Case);
    replies.set('GET /payments/deposit/disputed', answer({ data: [], meta: {} }));
    expect((await submit(browser, page, 'credited')).status).toBe(404);
  });

  test('a closed refund is not offered, and a second click on its decision is answered like the first', async () => {
    const [browser, page] = await pageOf(CASES[4] as Case);
    const confirmation = await submit(browser, page, 'refunded');
    replies.set('GET /payments/store-purchases/refund-queue', answer({ data: [], meta: {} }));
    const again = await submit(browser, confirmation, 'confirm_refunded', { note: 'In the store' });
    expect([again.status, again.location?.search]).toEqual([303, '?lang=en&refund=51&done=refunded']);
    expect(writes()).toHaveLength(1);
    const late = await submit(browser, page, 'refunded');
    expect([late.status, late.html.includes('closed already')]).toEqual([404, true]);
  });
});

describe('a claim of a withdrawal', () => {
  const claimed = (by: number, until = '2999-01-01 00:00:00') =>
    replies.set(
      'GET /payments/31',
      answer({
        payment: { ...WITHDRAWAL, meta: { ...WITHDRAWAL.meta, claimed_by: by, claimed_until: until } },
      }),
    );
  const decisionPage = async () => {
    const [browser, page] = await pageOf(CASES[0] as Case);
    return [browser, await submit(browser, page, 'pay')] as const;
  };

  test('an operator claims a withdrawal and releases it, on the page of the decision', async () => {
    const [browser, page] = await decisionPage();
    replies.set('POST /payments/31/claim', answer({}));
    replies.set('DELETE /payments/31/claim', { status: 204, body: {} });
    claimed(9);
    const mine = await submit(browser, page, 'claim');
    expect([mine.status, mine.html.includes('You have claimed this withdrawal until')]).toEqual([200, true]);
    expect(mine.html).toContain('>Mark 50,000 Tooman as paid<');
    replies.set('GET /payments/31', answer({ payment: WITHDRAWAL }));
    const free = await submit(browser, mine, 'release');
    expect(free.html).toContain('Claim for 30 minutes');
    expect(writes()).toEqual(['wallet POST /payments/31/claim {}', 'wallet DELETE /payments/31/claim']);
  });

  const ANOTHER = /#8.* has claimed this withdrawal until .*Continue only if they have not sent the money/;

  test('a claim that the page has not shown is not taken over, and the reference reaches the API', async () => {
    const [browser, before] = await decisionPage();
    claimed(8);
    const body = {
      message: 'x',
      code: 'payments.claimed',
      claimed_by: 8,
      claimed_until: '2999-01-01 00:00:00',
    };
    replies.set('POST /payments/31/pay', { status: 409, body });
    const refused = await submit(browser, before, 'confirm_pay', { reference: 'PAYA-9' });
    expect(refused.html).toMatch(ANOTHER);
    expect(refused.html).toContain('value="PAYA-9"');
    replies.set('POST /payments/31/pay', answer({}));
    const done = await submit(browser, refused, 'confirm_pay', { reference: 'PAYA-9' });
    expect(done.status).toBe(303);
    expect(writes()).toEqual(
      [false, true].map(
        (taken) => `wallet POST /payments/31/pay {"reference":"PAYA-9","take_over":${taken}}`,
      ),
    );
  });

  test('the claim of another operator is shown, and taking over is a decision of its own', async () => {
    claimed(8);
    const [browser, page] = await decisionPage();
    expect(page.html).toMatch(ANOTHER);
    expect(page.html).toContain('>Take over: Mark 50,000 Tooman as paid<');
    replies.set('POST /payments/31/claim', answer({}));
    claimed(9);
    const mine = await submit(browser, page, 'take_over');
    expect(mine.html).toContain('You have claimed this withdrawal until');
    expect(writes()).toEqual(['wallet POST /payments/31/claim {"take_over":true}']);
  });

  test('a claim that has ended is none', async () => {
    claimed(8, '2020-01-01 00:00:00');
    const [, page] = await decisionPage();
    expect(page.html).toContain('Claim for 30 minutes');
    expect(page.html).not.toContain('Take over');
  });
});
