import { execFile } from 'node:child_process';
import { mkdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { Failure } from './failure.mjs';
import { root } from './paths.mjs';

const run = promisify(execFile);

/** The file that names the commit, on its first line without a `#`. */
const file = join(root, 'test/releases/previous');

/** The commit of the previous release. */
export function previousRelease() {
  if (process.env.PREVIOUS_RELEASE) return process.env.PREVIOUS_RELEASE;
  const lines = readFileSync(file, 'utf8').split('\n');
  const commit = lines.map((line) => line.trim()).find((line) => line !== '' && !line.startsWith('#'));
  if (commit === undefined || !/^[0-9a-f]{40}$/.test(commit))
    throw new Failure(`${file} must name a commit by its 40 hexadecimal digits.`);
  return commit;
}

/** Checks out a commit, with its packages, into a directory that must not exist yet. @param {string} commit @param {string} directory */
export async function checkOutRelease(commit, directory) {
  const git = (/** @type {string[]} */ args) => run('git', ['-C', root, ...args]);
  const find = () => git(['cat-file', '-e', `${commit}^{commit}`]);
  try {
    // A shallow clone lacks the commit, but its origin has it.
    await find().catch(() => git(['fetch', '--quiet', '--depth=1', 'origin', commit]));
    await find();
  } catch {
    throw new Failure(`This clone and its origin lack the commit ${commit}, which ${file} names.`);
  }
  mkdirSync(directory, { recursive: true });
  const archive = join(directory, 'release.tar');
  await git(['archive', '--format=tar', `--output=${archive}`, commit]);
  await run('tar', ['-xf', archive, '-C', directory]);
  await run('npm', ['ci', '--omit=dev', '--no-audit', '--no-fund'], { cwd: directory, maxBuffer: 2 ** 24 });
}
