import { afterAll, beforeAll, expect, test } from '@jest/globals';
import {
  expectNoFailure,
  expectNoFailureOfQuery,
  FIELDS,
  MALICIOUS_VALUES,
  QUERIES,
  QUERY_VALUES,
} from './hostile-support.ts';
import { type Harness, joinAs, type Person, startHarness } from './support.ts';

let harness: Harness;
let administrator: Person;
beforeAll(async () => {
  harness = await startHarness();
  administrator = await joinAs(harness, 'administrator');
});
afterAll(() => harness.close());

/** A part of the values, each time another; the long test has all. */
const some = <Value>(values: readonly Value[], offset: number, step: number): Value[] =>
  values.filter((_, index) => index % step === offset % step);

test('no malicious value of a field causes a 500', async () => {
  for (const [index, field] of FIELDS.entries())
    await expectNoFailure(harness, administrator, field, some(MALICIOUS_VALUES, index, 7));
});

test('no malicious value of a query causes a 500', async () => {
  for (const [index, name] of QUERIES.entries())
    await expectNoFailureOfQuery(harness, administrator, name, some(QUERY_VALUES, index, 5));
});

test('a page far past the end is empty', async () => {
  const { status, body } = await harness.send('GET', '/users?page=100&per_page=100', {
    as: administrator.caller,
  });
  expect([status, body.data]).toEqual([200, []]);
});

test('an unsupported method returns 405 with the allowed methods', async () => {
  for (const method of ['POST', 'PUT', 'DELETE']) {
    const { status, headers } = await harness.send(method, '/users', { as: administrator.caller });
    expect([method, status, headers.get('allow')]).toEqual([method, 405, expect.stringContaining('GET')]);
  }
});
