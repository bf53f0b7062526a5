import TestRunner from 'jest-runner';

// A CommonJS module: Node gives its default where the types expect the whole of it.
const Base = /** @type {typeof TestRunner.default} */ (/** @type {unknown} */ (TestRunner));

/**
 * Runs test files one after another: the end-to-end tests stop and start parts of the same running product, and those of Compose
 * measure times.
 */
export default class InTurn extends Base {
  /** @override */
  isSerial = true;
}
