import { testHistories } from './histories.ts';

testHistories(4, 20);
