/** `REDEMPTION_RUNS` sets the number of histories. */
import { testHistories } from './histories.ts';

testHistories(Number(process.env.REDEMPTION_RUNS ?? 12), 50);
