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

/** The directory of all processes' public keys. @param {string} directory */
export const publicKeys = (directory) => join(directory, 'public');

/** The directory of one process's private key. @param {string} directory @param {string} name */
export const privateKey = (directory, name) => join(directory, 'private', name);
