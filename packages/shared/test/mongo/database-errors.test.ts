/** One error of each class; outage.test.ts has the class of every code. */
import { OVERLOADED, REJECTED, TABLE, testDatabaseErrors } from './database-errors.ts';

const CLASSES = [
  '50 plain',
  '262 retriable',
  '91 retriable',
  `433 ${OVERLOADED}`,
  `433 ${REJECTED}`,
  '388 plain',
];

testDatabaseErrors(TABLE.filter(([code, , kind]) => CLASSES.includes(`${code} ${kind}`)));
