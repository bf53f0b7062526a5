import { relative } from 'node:path';
import Sequencer from '@jest/test-sequencer';
import { root } from '../paths.mjs';

/**
 * Each of these takes 8 s or more: begun last, one would run alone while the other processor is idle. `npm test` prints
 * the slowest files at its end. All others follow in jest's own order.
 * @type {string[]}
 */
const longest = [];

/** @param {import('@jest/test-result').Test} test */
function rank({ path }) {
  const index = longest.indexOf(relative(root, path));
  return index < 0 ? longest.length : index;
}

// A CommonJS module: Node gives its default where the types expect the whole of it.
const Base = /** @type {typeof Sequencer.default} */ (/** @type {unknown} */ (Sequencer));

export default class LongestFirst extends Base {
  /** @override @param {import('@jest/test-result').Test[]} tests */
  async sort(tests) {
    const usual = await super.sort(tests);
    return usual.toSorted((one, other) => rank(one) - rank(other));
  }
}
