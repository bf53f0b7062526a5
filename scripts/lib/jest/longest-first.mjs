import { relative } from 'node:path';
import Sequencer from '@jest/test-sequencer';
import { root } from '../paths.mjs';

/**
 * The slowest test files, as `npm test` prints them. They run first: at the end, one would run alone while other processors are
 * idle. All other files follow in jest's order.
 */
const longest = [
  'test/architecture/code.test.ts',
  'test/e2e/releases.long.test.ts',
  'test/e2e/replicas.long.test.ts',
  'test/e2e/restore.long.test.ts',
  'test/e2e/schemathesis.long.test.ts',
  'test/architecture/recipes.long.test.ts',
  'test/architecture/kubernetes.long.test.ts',
  'services/media/test/memory.long.test.ts',
  'services/wallet/test/model.long.test.ts',
  'services/media/test/crash.long.test.ts',
  'services/identity/test/explain.long.test.ts',
  'services/content/test/explain.long.test.ts',
  'services/identity/test/purge-races.long.test.ts',
  'services/content/test/crash.long.test.ts',
  'services/identity/test/guessing-limits.test.ts',
  'packages/demo/test/seed.long.test.ts',
  'services/media/test/hostile-forms.test.ts',
  'gateway/test/overload.test.ts',
  'services/content/test/posts.test.ts',
  'services/identity/test/referrals.test.ts',
  'services/identity/test/recovery-limits.test.ts',
  'services/wallet/test/audit.long.test.ts',
  'services/media/test/images.test.ts',
  'services/wallet/test/crash.test.ts',
  'services/gyms/test/boosts.test.ts',
  'services/identity/test/deletion.test.ts',
  'services/content/test/list-model.test.ts',
  'services/wallet/test/model.test.ts',
  'services/store-billing/test/kill-points.test.ts',
];

/** @param {import('@jest/test-result').Test} test */
function rank({ path }) {
  const index = longest.indexOf(relative(root, path));
  return index < 0 ? longest.length : index;
}

// This is a CommonJS module: Node returns its default export where the types expect the whole module.
const Base = /** @type {typeof Sequencer.default} */ (/** @type {unknown} */ (Sequencer));

export default class LongestFirst extends Base {
  /** @override @param {import('@jest/test-result').Test[]} tests */
  async sort(tests) {
    const usual = await super.sort(tests);
    return usual.toSorted((one, other) => rank(one) - rank(other));
  }
}
