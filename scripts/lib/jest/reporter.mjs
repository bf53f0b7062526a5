import { writeFileSync } from 'node:fs';
import { relative } from 'node:path';
import { clockOf, remaining } from '../../../packages/shared/src/kernel/progress.mjs';
import { root } from '../paths.mjs';

/**
 * @typedef {object} FileResult
 * @property {string} file relative to the root
 * @property {string} project
 * @property {number} seconds
 * @property {string[]} failed full titles; empty for a file that could not be loaded
 * @property {boolean} loaded
 *
 * @typedef {object} JestResult
 * @property {number} passed tests
 * @property {number} failed tests, and files that could not be loaded: jest leaves these out of its own count
 * @property {FileResult[]} files
 */

/**
 * Prints a line and the failures of each test file as it ends, and writes a {@link JestResult} to the file
 * that TEST_RESULTS names. TEST_STARTED_AT is the start of the run, in ms since 1970.
 */
export default class ProgressReporter {
  #startedAt = Number(process.env.TEST_STARTED_AT ?? Date.now());
  #total = 0;
  /** @type {FileResult[]} */
  #files = [];

  /** @param {import('@jest/reporters').AggregatedResult} results */
  onRunStart({ numTotalTestSuites }) {
    this.#total = numTotalTestSuites;
  }

  /** @param {import('@jest/reporters').Test} test @param {import('@jest/reporters').TestResult} result */
  onTestResult({ context }, { testFilePath, testResults, testExecError, failureMessage, perfStats }) {
    const failed = testResults.filter(({ status }) => status === 'failed').map(({ fullName }) => fullName);
    const { displayName } = context.config;
    const result = {
      file: relative(root, testFilePath),
      project: displayName?.name ?? '',
      seconds: perfStats.runtime / 1000,
      failed,
      loaded: testExecError == null,
    };
    this.#files.push(result);
    const isOk = result.loaded && failed.length === 0;
    const done = `${String(this.#files.length).padStart(String(this.#total).length)}/${this.#total}`;
    const elapsedMs = Date.now() - this.#startedAt;
    const elapsed = clockOf(elapsedMs);
    const left = remaining({ done: this.#files.length, total: this.#total, elapsedMs });
    console.log(
      `${elapsed}  ${result.project} ${done}  ${isOk ? 'ok    ' : 'FAILED'}  ${result.file} (${result.seconds.toFixed(1)} s)${left && `, ${left}`}`,
    );
    if (failureMessage) console.log(failureMessage);
  }

  /** @param {unknown} _contexts @param {import('@jest/reporters').AggregatedResult} results */
  onRunComplete(_contexts, { numPassedTests, numFailedTests, numRuntimeErrorTestSuites, numPendingTests }) {
    const result = {
      passed: numPassedTests,
      failed: numFailedTests + numRuntimeErrorTestSuites,
      files: this.#files,
    };
    const file = process.env.TEST_RESULTS;
    if (file) writeFileSync(file, JSON.stringify(result));
    else console.log(`${result.passed} passed, ${result.failed} failed`);
    if (numPendingTests > 0) console.log(`${numPendingTests} tests were not selected`);
  }
}
