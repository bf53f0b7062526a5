/**
 * The exports of '@jest/globals' in a test file (test-runner.mjs redirects the import). The bindings are live: each test
 * file gets its own suite.
 * @typedef {typeof import('@jest/globals')} Suite
 */
export let [afterAll, afterEach, beforeAll, beforeEach, describe, expect, jest, test] =
  /** @type {any[]} */ ([]);

/** @param {Suite} suite */
export const use = (suite) => {
  ({ afterAll, afterEach, beforeAll, beforeEach, describe, expect, jest, test } = suite);
};
