import { join } from 'node:path';
import { dataDirectory, root } from './paths.mjs';

/** @typedef {{ name: string, group: 'typecheck' | 'lint', args: string[] }} Check */

/** Source checks, run with the project's own Node, slowest first. Each is counted as one test. @type {Check[]} */
export const checks = [
  { name: 'type check', group: 'typecheck', args: tsc('tsconfig.json') },
  {
    name: 'the generated files are up to date',
    group: 'typecheck',
    args: [join(root, 'scripts/generate.mjs'), '--check'],
  },
  {
    name: 'type check of the client for browsers',
    group: 'typecheck',
    args: tsc('packages/client/tsconfig.json'),
  },
  { name: 'lint with types (oxlint)', group: 'lint', args: [binary('oxlint'), '--type-aware'] },
  { name: 'import rules', group: 'lint', args: [join(root, 'scripts/check-architecture.mjs')] },
  {
    name: 'every export is imported (knip)',
    group: 'lint',
    args: [binary('knip'), '--no-progress', '--no-config-hints'],
  },
  { name: 'format and lint (biome)', group: 'lint', args: [binary('biome'), 'check', '.'] },
];

/** @param {string} name */
function binary(name) {
  return join(root, 'node_modules', '.bin', name);
}

/** Checks what has changed since the last run. @param {string} project */
function tsc(project) {
  const record = join(dataDirectory, 'typecheck', `${project}.tsbuildinfo`);
  return [binary('tsc'), '-p', project, '--noEmit', '--incremental', '--tsBuildInfoFile', record];
}
