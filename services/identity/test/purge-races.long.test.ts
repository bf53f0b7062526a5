import { test } from '@jest/globals';
import { runRaces } from './purge-race.ts';

test(
  'after a thousand races of cancellation and purge each account is complete or erased, as reported',
  () => runRaces(1_000),
  1_200_000,
);
