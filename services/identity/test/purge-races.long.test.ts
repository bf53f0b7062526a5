import { test } from '@jest/globals';
import { runRaces } from './purge-race.ts';

test(
  'in a thousand races between cancellation and purge each account is either complete or erased, as answered',
  () => runRaces(1_000),
  1_200_000,
);
