/** `WALLET_MODEL_HISTORIES` sets the number of histories, `WALLET_MODEL_SEED` changes them. */
import { test } from '@jest/globals';
import { playHistories } from './model-runs.ts';

const HISTORIES = Number(process.env.WALLET_MODEL_HISTORIES ?? 8);

test(
  `in ${HISTORIES} histories some order of the operations allows every answer, and the audit finds no difference`,
  () => playHistories(HISTORIES),
  60_000 + HISTORIES * 120_000,
);
