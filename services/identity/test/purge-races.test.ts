import { test } from '@jest/globals';
import { runRaces } from './purge-race.ts';

test(
  'after twenty-five races of cancellation and purge each account is complete or erased, as reported',
  () => runRaces(25),
  300_000,
);
