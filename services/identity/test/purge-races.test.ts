import { test } from '@jest/globals';
import { runRaces } from './purge-race.ts';

test(
  'in a hundred races between cancellation and purge each account is either complete or erased, as answered',
  () => runRaces(100),
  300_000,
);
