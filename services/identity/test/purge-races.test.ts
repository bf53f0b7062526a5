import { test } from '@jest/globals';
import { playRaces } from './purge-race.ts';

test(
  'a hundred races: each account is either restored with all its data or erased, and the answer agrees',
  () => playRaces(100),
  300_000,
);
