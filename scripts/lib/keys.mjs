import { execFileSync } from 'node:child_process';
import { join } from 'node:path';
import { nodeFlags } from './node-flags.mjs';
import { nodeBinary, root } from './paths.mjs';

/**
 * Makes the key pairs of all processes that are missing in `directory`. In a process of the project's own Node, because
 * `npm start` may run under one that does not run TypeScript.
 * @param {string} directory
 */
export const makeKeys = (directory) =>
  void execFileSync(
    nodeBinary,
    [...nodeFlags, join(root, 'packages/shared/src/process-identity/keys-cli.ts'), 'create', directory],
    { stdio: ['ignore', 'ignore', 'inherit'] },
  );

/** The public keys of all processes. @param {string} directory */
export const publicKeys = (directory) => join(directory, 'public');

/** The private key of one process. @param {string} directory @param {string} name */
export const privateKey = (directory, name) => join(directory, 'private', name);
