import { execFile } from 'node:child_process';
import { promisify } from 'node:util';

/**
 * The output of a short command; empty if it fails or does not exist.
 * @param {string} command @param {string[]} args
 */
export async function output(command, args) {
  try {
    return (await promisify(execFile)(command, args, { timeout: 30_000 })).stdout;
  } catch {
    return '';
  }
}
