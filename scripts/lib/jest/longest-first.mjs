import { relative } from 'node:path';
import Sequencer from '@jest/test-sequencer';
import { root } from '../paths.mjs';

/**
 * The slowest test files, as `npm test` prints them. They run first: at the end, one would run alone while other processors are
 * idle. All other files follow in jest's order.
 */
const longest = [
  'test/e2e/releases.long.test.ts',
  'test/architecture/kubernetes.long.test.ts',
  'test/architecture/recipes.long.test.ts',
  'test/e2e/replicas.long.test.ts',
  'test/e2e/restore.long.test.ts',
  'services/content/test/moving-profiles.long.test.ts',
  'services/wallet/test/steps.long.test.ts',
  'test/e2e/schemathesis.long.test.ts',
  'services/gyms/test/steps.long.test.ts',
  'services/wallet/test/audit.long.test.ts',
  'services/wallet/test/model.long.test.ts',
  'services/media/test/memory.long.test.ts',
  'services/gyms/test/list-model.long.test.ts',
  'services/store-billing/test/crash.long.test.ts',
  'packages/shared/test/mongo/database-errors.long.test.ts',
  'services/store-billing/test/queries.long.test.ts',
  'services/content/test/list-model.long.test.ts',
  'services/wallet/test/crash.long.test.ts',
  'services/media/test/crash.long.test.ts',
  'services/identity/test/purge-races.long.test.ts',
  'test/e2e/npm-start.long.test.ts',
  'services/store-billing/test/kill-points.long.test.ts',
  'test/architecture/code.test.ts',
  'packages/shared/test/mongo/database-errors.test.ts',
  'services/content/test/posts.test.ts',
  'services/identity/test/guessing-limits.test.ts',
  'gateway/test/overload.test.ts',
  'services/identity/test/recovery-limits.test.ts',
  'services/identity/test/notification-channels.test.ts',
  'services/gyms/test/races.test.ts',
  'services/content/test/purchase.test.ts',
  'services/identity/test/oauth.test.ts',
  'packages/shared/test/http/connections.test.ts',
  'packages/shared/test/messaging/broker.test.ts',
  'services/store-billing/test/background.test.ts',
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
