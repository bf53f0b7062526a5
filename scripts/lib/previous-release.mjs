import { execFile } from 'node:child_process';
import { globSync, mkdirSync, readdirSync, readFileSync, readlinkSync, symlinkSync } from 'node:fs';
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
  const lock = 'package-lock.json';
  const isSame = readFileSync(join(root, lock)).equals(readFileSync(join(directory, lock)));
  if (isSame) linkPackages(directory);
  else
    await run('npm', ['ci', '--omit=dev', '--no-audit', '--no-fund'], { cwd: directory, maxBuffer: 2 ** 24 });
}

/**
 * Links the installed packages, for a release with the same lock file. Workspace links are relative to `node_modules`, so
 * their copies lead to the workspaces of the release.
 * @param {string} directory
 */
function linkPackages(directory) {
  const packages = globSync(['node_modules', '*/node_modules', '{packages,services}/*/node_modules'], {
    cwd: root,
  });
  for (const folder of packages) linkFolder(folder, directory);
}

/** @param {string} folder @param {string} directory */
function linkFolder(folder, directory) {
  mkdirSync(join(directory, folder), { recursive: true });
  for (const entry of readdirSync(join(root, folder), { withFileTypes: true })) {
    const path = join(folder, entry.name);
    if (entry.isSymbolicLink()) symlinkSync(readlinkSync(join(root, path)), join(directory, path));
    else if (entry.name.startsWith('@')) linkFolder(path, directory);
    else symlinkSync(join(root, path), join(directory, path));
  }
}
