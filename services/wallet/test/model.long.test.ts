/** `WALLET_MODEL_HISTORIES` makes a longer run, `WALLET_MODEL_SEED` another one. */
import { test } from '@jest/globals';
import { playHistories } from './model-runs.ts';

const HISTORIES = Number(process.env.WALLET_MODEL_HISTORIES ?? 8);

test(
  `in ${HISTORIES} histories every answer is one that some order allows, and the books are right`,
  () => playHistories(HISTORIES),
  60_000 + HISTORIES * 120_000,
);
