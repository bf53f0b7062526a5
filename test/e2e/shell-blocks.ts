/** Executes the commands in a document unchanged. */
import { execFile } from 'node:child_process';
import { readFile } from 'node:fs/promises';
import { promisify } from 'node:util';

const ROOT = new URL('../../', import.meta.url);
const MARK = '=== the next block ===';

/** Runs all `sh` blocks of a file in one shell that ends at the first failure. Returns the output of each block. */
export const runShellBlocks = async (file: string, env: Record<string, string>): Promise<string[]> => {
  const text = await readFile(new URL(file, ROOT), 'utf8');
  const blocks = [...text.matchAll(/^```sh\n(.*?)^```$/gms)].map(([, block = '']) => block);
  const script = blocks.join(`\necho; echo '${MARK}'\n`);
  const options = { cwd: ROOT, env: { PATH: process.env.PATH, ...env } };
  const { stdout } = await promisify(execFile)('bash', ['-euo', 'pipefail', '-c', script], options);
  return stdout.split(MARK);
};
