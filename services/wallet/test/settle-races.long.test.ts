import { testSettleRaces } from './settle-races.ts';

testSettleRaces(200);
