/** `WALLET_MODEL_HISTORIES` sets the number of histories, `WALLET_MODEL_SEED` changes them. */
import { test } from '@jest/globals';
import { playHistories } from './model-runs.ts';
import { playSequences } from './model-sequence.ts';

const HISTORIES = Number(process.env.WALLET_MODEL_HISTORIES ?? 8);

test(
  `some order of the operations allows every response in ${HISTORIES} histories, and the audit agrees`,
  () => playHistories({ histories: HISTORIES, operations: 500, callers: 64 }),
  60_000 + HISTORIES * 120_000,
);

test('any sequence of bookings, withdrawals and settlements has the same responses as the model', () =>
  playSequences(3, 120));
