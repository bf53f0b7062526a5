import { test } from '@jest/globals';
import { runRaces } from './purge-race.ts';

test(
  'after a hundred races of cancellation and purge each account is complete or erased, as reported',
  () => runRaces(100),
  300_000,
);
