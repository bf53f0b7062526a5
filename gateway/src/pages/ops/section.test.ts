import { html } from '@fitness/shared/pages/html.ts';
import { expect, test } from '@jest/globals';
import { factsOf } from './section.ts';

const t = (): string => 'Reason';

test.each([
  ['a card number', '62741****44', '<bdi dir="ltr">62741****44</bdi>'],
  ['an address', '12/5 Azadi', '<bdi dir="ltr">12/5 Azadi</bdi>'],
  ['Persian digits alone', '۶۲۷۴۱', '<bdi dir="ltr">۶۲۷۴۱</bdi>'],
  ['a number', 12, '<bdi dir="ltr">12</bdi>'],
  ['a Persian text', 'خیابان ۱۲', '<bdi>خیابان ۱۲</bdi>'],
  ['a mixed text', 'gym باشگاه', '<bdi>gym باشگاه</bdi>'],
  ['what has a direction of its own', html`<time dir="ltr">now</time>`, '<time dir="ltr">now</time>'],
])('%s is shown in the direction of its letters', (_name, value, shown) => {
  expect(factsOf(t, [['ops.reason', value]]).toString()).toContain(`<dd>${shown}</dd>`);
});
