import { afterAll, beforeAll, test } from '@jest/globals';
import { expectNoFailure, expectNoFailureOfQuery, FIELDS, QUERIES } from './hostile-support.ts';
import { type Harness, joinAs, type Person, startHarness } from './support.ts';

let harness: Harness;
let administrator: Person;
beforeAll(async () => {
  harness = await startHarness();
  administrator = await joinAs(harness, 'administrator');
});
afterAll(() => harness.close());

test.each(FIELDS)('%s %s: no value of %s causes a 500', (...field) =>
  expectNoFailure(harness, administrator, field),
);

test.each(QUERIES)('GET /users: no value of %s causes a 500', (name) =>
  expectNoFailureOfQuery(harness, administrator, name),
);
