/** Kills at the commits; crash.long.test.ts kills before every command. */
import { testCrashes } from './crashes.ts';

testCrashes({
  sale: [3],
  withdrawal: [10, 11],
  rejection: [10, 11],
  opening: [8],
  callback: [8],
  seal: [11],
});
