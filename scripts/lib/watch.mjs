import { existsSync, readdirSync, readFileSync, realpathSync, statSync, watch } from 'node:fs';
import { dirname, join } from 'node:path';
import { root } from './paths.mjs';

/** Folders that no process loads anything from. `gen` has only types. */
const ignoredFolder = /^(?:node_modules|test|testing|gen|\..*)$/;
/** What a process loads. Editors write files with other names beside those that they save. */
const source = /(?<!\.test)\.(?:ts|mjs|js|json|proto|css|html|svg)$/;
/** One save is several events, and `git checkout` changes many files. */
const momentMs = 200;

/** The directories of a program's sources: its workspace, and those that it depends on. @param {string} main `<workspace>/src/main.ts` */
export function sourceDirectories(main) {
  const directories = new Set([dirname(dirname(main))]);
  // Directories that are added meanwhile are visited too.
  for (const directory of directories) {
    const manifest = join(directory, 'package.json');
    const { dependencies = {} } = existsSync(manifest) ? JSON.parse(readFileSync(manifest, 'utf8')) : {};
    for (const name of Object.keys(dependencies))
      if (name.startsWith('@fitness/')) directories.add(realpathSync(join(root, 'node_modules', name)));
  }
  return [...directories];
}

/** @param {string} path */
const isFolder = (path) => statSync(path, { throwIfNoEntry: false })?.isDirectory() === true;

/** @param {string} directory @returns {string[]} */
function foldersOf(directory) {
  const names = readdirSync(directory).filter((name) => !ignoredFolder.test(name));
  const folders = names.map((name) => join(directory, name)).filter(isFolder);
  return [directory, ...folders.flatMap(foldersOf)];
}

/**
 * Calls `onChange` once, when a source in these directories or a folder has changed. Folders are watched, not files: an editor that
 * saves by renaming replaces the file, and a watch stays with the replaced one.
 * @param {string[]} directories
 * @param {(path: string) => void} onChange gets the last changed path
 * @returns {() => void} ends the watch
 */
export function watchSources(directories, onChange) {
  /** @type {NodeJS.Timeout | undefined} */
  let timer;
  const watchers = directories.flatMap(foldersOf).map((folder) =>
    watch(folder, (_event, name) => {
      const path = join(folder, String(name));
      if (!source.test(path) && (ignoredFolder.test(String(name)) || !isFolder(path))) return;
      clearTimeout(timer);
      timer = setTimeout(() => {
        end();
        onChange(path);
      }, momentMs);
    }),
  );
  const end = () => {
    clearTimeout(timer);
    for (const watcher of watchers) watcher.close();
  };
  return end;
}
