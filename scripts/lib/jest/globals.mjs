/**
 * The exports of '@jest/globals' in a test file (test-runner.mjs redirects the import). The bindings are live: each test
 * file gets its own suite.
 * @typedef {typeof import('@jest/globals')} Suite
 */
/** @type {Suite['afterAll']} */
export let afterAll;
/** @type {Suite['afterEach']} */
export let afterEach;
/** @type {Suite['beforeAll']} */
export let beforeAll;
/** @type {Suite['beforeEach']} */
export let beforeEach;
/** @type {Suite['describe']} */
export let describe;
/** @type {Suite['expect']} */
export let expect;
/** @type {Suite['jest']} */
export let jest;
/** @type {Suite['test']} */
export let test;

/** @param {Suite} suite */
export const use = (suite) => {
  ({ afterAll, afterEach, beforeAll, beforeEach, describe, expect, jest, test } = suite);
};
