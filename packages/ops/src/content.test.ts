import { html } from '@fitness/shared/pages/html.ts';
import { expect, test } from '@jest/globals';
import { facts, htmlOf, table } from './content.ts';
import type { Operator } from './operator.ts';

const operator = { locale: 'en', t: () => 'Reason' } as unknown as Operator;

test.each([
  ['a card number', '62741****44', '<bdi class="whole" dir="ltr">62741****44</bdi>'],
  [
    'an account number',
    'IR062960000000100324200001',
    '<bdi class="whole" dir="ltr">IR062960000000100324200001</bdi>',
  ],
  ['an address', '12/5 Azadi', '<bdi dir="ltr">12/5 Azadi</bdi>'],
  ['Persian digits alone', '۶۲۷۴۱', '<bdi dir="ltr">۶۲۷۴۱</bdi>'],
  ['a number', 12, '<bdi dir="ltr">12</bdi>'],
  ['a Persian text', 'خیابان ۱۲', '<bdi>خیابان ۱۲</bdi>'],
  ['a mixed text', 'gym باشگاه', '<bdi>gym باشگاه</bdi>'],
  ['an element with a direction', html`<time dir="ltr">now</time>`, '<time dir="ltr">now</time>'],
])('%s is shown in the direction of its letters', (_name, value, shown) => {
  expect(htmlOf(operator, facts([['ops.reason', value]])).toString()).toContain(`<dd>${shown}</dd>`);
});

test('a table labels each cell with its column, and shows a dash for an empty value', () => {
  const rows = [
    { id: 1, note: 'a<b' },
    { id: 2, note: null },
  ];
  const shown = table<(typeof rows)[number]>(
    [
      ['ops.id', ({ id }) => id, 'number'],
      ['ops.reason', ({ note }) => note],
    ],
    rows,
  );
  const text = htmlOf(operator, shown).toString();
  expect(text.match(/<tr role="row">/g)).toHaveLength(3);
  expect(text).toContain(
    '<th scope="row" role="rowheader" data-label="Reason" class="number"><span><bdi dir="ltr">1</bdi></span></th>',
  );
  expect(text).toContain('<td role="cell" data-label="Reason"><span><bdi dir="ltr">a&lt;b</bdi></span></td>');
  expect(text).toContain('<td role="cell" data-label="Reason" data-empty><span>—</span></td>');
  expect(table([['ops.id', () => 1]], [])).toBeUndefined();
});
