import { execFileSync } from 'node:child_process';
import { join } from 'node:path';
import { nodeFlags } from './node-flags.mjs';
import { nodeBinary, root } from './paths.mjs';

/**
 * Makes the missing key pairs of all processes in `directory`. This runs in a child process with the project's own Node, because
 * `npm start` may run under a Node without TypeScript support.
 * @param {string} directory
 */
export const makeKeys = (directory) =>
  void execFileSync(
    nodeBinary,
    [...nodeFlags, join(root, 'packages/shared/src/process-identity/keys-cli.ts'), 'create', directory],
    { stdio: ['ignore', 'ignore', 'inherit'] },
  );
