import { EVERY_COMMAND, testCrashes } from './crashes.ts';

testCrashes(EVERY_COMMAND);
