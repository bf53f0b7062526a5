/** `WALLET_MODEL_HISTORIES` sets the number of histories, `WALLET_MODEL_SEED` changes them. */
import { test } from '@jest/globals';
import { playHistories } from './model-runs.ts';

const HISTORIES = Number(process.env.WALLET_MODEL_HISTORIES ?? 8);

test(
  `some order of the operations allows every response in ${HISTORIES} histories, and the audit agrees`,
  () => playHistories(HISTORIES),
  60_000 + HISTORIES * 120_000,
);
