/** Some of the errors; outage.test.ts has the class of every code. */
import { REJECTED, TABLE, testDatabaseErrors } from './database-errors.ts';

const CLASSES = ['50 plain', '91 retriable', `433 ${REJECTED}`, '388 plain'];

testDatabaseErrors(TABLE.filter(([code, , kind]) => CLASSES.includes(`${code} ${kind}`)));
