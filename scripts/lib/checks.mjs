import { join } from 'node:path';
import { root } from './paths.mjs';

/** @typedef {{ name: string, group: 'typecheck' | 'lint', args: string[] }} Check */

/**
 * Source checks, run with the project's own Node, slowest first. Each is counted as one test.
 * @type {Check[]}
 */
export const checks = [
  {
    name: 'the generated files are up to date',
    group: 'typecheck',
    args: [join(root, 'scripts/generate.mjs'), '--check'],
  },
  {
    name: 'type check of the client for browsers',
    group: 'typecheck',
    args: [binary('tsc'), '-p', 'packages/client'],
  },
  { name: 'type check', group: 'typecheck', args: [binary('tsc'), '--noEmit'] },
  {
    name: 'type check of the scripts',
    group: 'typecheck',
    args: [binary('tsc'), '-p', 'scripts', '--noEmit'],
  },
  { name: 'format and lint (biome)', group: 'lint', args: [binary('biome'), 'check', '.'] },
  { name: 'lint with types (oxlint)', group: 'lint', args: [binary('oxlint'), '--type-aware'] },
  {
    name: 'every export is imported (knip)',
    group: 'lint',
    args: [binary('knip'), '--no-progress', '--no-config-hints'],
  },
  { name: 'import rules', group: 'lint', args: [join(root, 'scripts/check-architecture.mjs')] },
];

/** @param {string} name */
function binary(name) {
  return join(root, 'node_modules', '.bin', name);
}
