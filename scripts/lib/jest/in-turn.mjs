import TestRunner from 'jest-runner';

// This is a CommonJS module: Node returns its default export where the types expect the whole module.
const Base = /** @type {typeof TestRunner.default} */ (/** @type {unknown} */ (TestRunner));

/**
 * Runs test files one after another. End-to-end tests stop and start parts of one running product, and Compose tests measure
 * times.
 */
export default class InTurn extends Base {
  /** @override */
  isSerial = true;
}
