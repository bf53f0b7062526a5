/**
 * `npm run generate`: writes every generated file: protocol buffer types, tables in documents, and the variables of deployments. It also
 * writes the error codes, the types of @fitness/client, and the API document of an unreleased version.
 */
import { spawnSync } from 'node:child_process';
import { root } from './lib/paths.mjs';

/** Tests that compare a file with the sources. With UPDATE_DOCS=1 they write the file instead. */
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
