import { test } from '@jest/globals';
import { playRaces } from './purge-race.ts';

test(
  'a thousand races: each account is either restored with all its data or erased, and the answer agrees',
  () => playRaces(1_000),
  1_200_000,
);
