import { testKillPoints } from './kill-points.ts';

testKillPoints();
