/** Kills at the commits; kill-points.long.test.ts kills before every command. */
import { testKillPoints } from './kill-points.ts';

testKillPoints({ redemption: [1, 11, 12], purchase: [8, 9, 16, 17] });
