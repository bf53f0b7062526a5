/**
 * `npm run generate`: writes every file that is made from the sources: the types of protocol buffers, the tables of documents, the
 * variables of deployments, the error codes, the types of @fitness/client, and the API document of an unreleased version.
 */
import { spawnSync } from 'node:child_process';
import { root } from './lib/paths.mjs';

/** These tests compare a file with the sources, and write it with UPDATE_DOCS=1. */
const writingTests = [
  'environment',
  'alerts',
  'privacy',
  'process-access',
  'api-errors',
  'indexes',
  'shards',
  'notice',
];

const steps = [
  ['scripts/generate-proto-types.mjs'],
  ['scripts/test.mjs', '--only', 'architecture', ...writingTests],
  ['scripts/generate-client.mjs'],
  ['scripts/api-release.mjs'],
];

for (const step of steps) {
  const env = { ...process.env, UPDATE_DOCS: '1' };
  const { status } = spawnSync(process.execPath, [...process.execArgv, ...step], {
    cwd: root,
    env,
    stdio: 'inherit',
  });
  if (status !== 0) process.exit(status ?? 1);
}
