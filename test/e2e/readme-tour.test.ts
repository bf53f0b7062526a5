/** The tour of README.md, executed as it stands there. */
import { beforeAll, expect, test } from '@jest/globals';
import { runShellBlocks } from './shell-blocks.ts';
import { baseUrl, sandboxUrl } from './support.ts';

/** What each block has printed. */
let printed: string[];

beforeAll(async () => {
  const env = { API: `${baseUrl()}/api/v1`, SANDBOX: sandboxUrl() };
  printed = await runShellBlocks('README.md', env, /<!-- tour -->.*<!-- \/tour -->/s);
});

/** The JSON documents that a block has printed, one after the other. */
const answers = (block: number): unknown[] =>
  (printed[block] ?? '')
    .trim()
    .split(/(?<=\})\n(?=\{)/)
    .map((text) => JSON.parse(text));

test('the blockers are listed', () => {
  expect(answers(0)).toEqual([
    {
      error: expect.any(String),
      code: 'account_deletion_blocked',
      blockers: expect.arrayContaining([expect.objectContaining({ code: 'pending_withdrawal' })]),
    },
  ]);
});

test('the code is sent and confirmed', () => {
  const timestamp = expect.stringMatching(/^\d{4}-\d\d-\d\d \d\d:\d\d:\d\d$/);
  expect(answers(1)).toEqual([
    { message: expect.any(String), confirmation_required: true },
    { message: expect.any(String), deletion_requested_at: timestamp, deletion_scheduled_at: timestamp },
  ]);
});

test('the deletion is cancelled', () => {
  expect(answers(2)).toEqual([
    { message: expect.any(String), user: expect.objectContaining({ deletion_scheduled_at: null }) },
  ]);
});

test('the deposit is in the wallet', () => {
  expect(answers(3)).toEqual([{ balance: 50_000 }]);
});

test('the purchase is redeemed', () => {
  expect(answers(4)).toEqual([{ data: expect.objectContaining({ type: 'plus' }) }]);
  expect(printed).toHaveLength(5);
});
