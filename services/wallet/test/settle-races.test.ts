/** settle-races.long.test.ts has ten times the rounds. */
import { testSettleRaces } from './settle-races.ts';

testSettleRaces(20);
