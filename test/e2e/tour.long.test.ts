/** Executes the calls of README.md and the tour unchanged, on a separate product because the tour advances the clock. */
import { DAY_MS } from '@fitness/shared/kernel/clock.ts';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { type OwnProduct, startOwnProduct } from './own-product.ts';
import { runShellBlocks } from './shell-blocks.ts';

/** The output of each block of the tour. */
let printed: string[];

/** The output of the calls in README.md. */
let calls: string;

let product: OwnProduct;

beforeAll(async () => {
  product = await startOwnProduct(1);
  const env = { API: `${product.stack.url}/api/v1`, SANDBOX: product.stack.sandboxUrl };
  calls = (await runShellBlocks('README.md', env)).join('\n');
  printed = await runShellBlocks('docs/guides/apps/tour.md', env);
}, 180_000);

afterAll(() => product?.close());

const parse = (text: string): unknown[] =>
  text
    .trim()
    .split(/(?<=\})\n(?=\{)/)
    .map((document) => JSON.parse(document));

/** The JSON documents that a block has printed, in order. */
const answers = (block: number): unknown[] => parse(printed[block] ?? '');

const BLOCKED = {
  error: expect.any(String),
  code: 'account_deletion_blocked',
  blockers: expect.arrayContaining([expect.objectContaining({ code: 'pending_withdrawal' })]),
};

test('the calls of README.md read the balance and list the blockers', () => {
  expect(parse(calls)).toEqual([{ balance: expect.any(Number) }, BLOCKED]);
});

test('the tour lists the blockers', () => {
  expect(answers(0)).toEqual([BLOCKED]);
});

test('the tour sends and confirms the code', () => {
  const timestamp = expect.stringMatching(/^\d{4}-\d\d-\d\d \d\d:\d\d:\d\d$/);
  expect(answers(1)).toEqual([
    { message: expect.any(String), confirmation_required: true },
    { message: expect.any(String), deletion_requested_at: timestamp, deletion_scheduled_at: timestamp },
  ]);
});

test('the tour cancels the deletion', () => {
  expect(answers(2)).toEqual([
    { message: expect.any(String), user: expect.objectContaining({ deletion_scheduled_at: null }) },
  ]);
});

test("the tour's deposit is in the wallet", () => {
  expect(answers(3)).toEqual([{ balance: 50_000 }]);
});

test('the tour redeems the purchase once, and its repeat changes nothing', () => {
  const [first = '', created, second = '', repeated] = (printed[4] ?? '').trim().split('\n');
  expect([created, repeated]).toEqual(['201', '200']);
  expect(JSON.parse(first)).toEqual({ data: expect.objectContaining({ type: 'plus' }) });
  expect(JSON.parse(second)).toEqual(JSON.parse(first));
});

test("the tour's boost has ended after eight days", () => {
  expect(answers(5)).toEqual([
    { data: expect.objectContaining({ boostable_type: 'App\\Models\\TrainingServices\\TrainingService' }) },
    { data: expect.objectContaining({ advanced_ms: 8 * DAY_MS }) },
    { data: expect.objectContaining({ boost: null }) },
  ]);
});

test("the tour's subscription has ended after a month", () => {
  expect(answers(6)).toEqual([
    { data: expect.objectContaining({ advanced_ms: 39 * DAY_MS }) },
    { user: expect.objectContaining({ current_subscription: null }) },
  ]);
});

test("the tour's account is erased after its grace period", () => {
  expect(answers(7)).toEqual([
    expect.objectContaining({ confirmation_required: true }),
    expect.objectContaining({ deletion_scheduled_at: expect.any(String) }),
    { data: expect.objectContaining({ advanced_ms: 53 * DAY_MS }) },
    expect.objectContaining({ errors: { login: [expect.any(String)] } }),
  ]);
  expect(printed).toHaveLength(8);
});
