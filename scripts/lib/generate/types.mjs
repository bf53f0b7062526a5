/**
 * Writes the types of the gRPC calls and of the client if they are missing or older than their source. Only type checks, linters and
 * editors read them, so git does not contain them.
 */
import { execFileSync } from 'node:child_process';
import { mkdtempSync, readdirSync, renameSync, rmSync, statSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { nodeBinary, root } from '../paths.mjs';

/**
 * @typedef {object} Types
 * @property {string} target a file or a directory
 * @property {() => string[]} sources
 * @property {(output: string, sources: string[]) => string[]} command a program that writes the types to `output`, and its arguments
 */

/** @param {string} directory @param {RegExp} name @returns {string[]} sorted paths from the root */
const filesIn = (directory, name) =>
  readdirSync(join(root, directory), { recursive: true })
    .map((file) => join(directory, String(file)))
    .filter((file) => name.test(file) && !file.includes('node_modules'))
    .sort();

/** @type {Types[]} */
const all = [
  {
    target: 'proto/gen',
    sources: () => filesIn('proto', /\.proto$/),
    command: (output, sources) => [
      'node_modules/.bin/proto-loader-gen-types',
      // These options must match the ones that load the files at run time (packages/shared/src/grpc/load.ts).
      ...['--keepCase', '--longs=Number', '--enums=String', '--defaults', '--oneofs'],
      ...[
        '--importFileExtension=.ts',
        '--grpcLib=@grpc/grpc-js',
        '--includeDirs=proto',
        `--outDir=${output}`,
      ],
      ...sources.map((file) => file.slice('proto/'.length)),
    ],
  },
  {
    target: 'packages/client/src/generated/schema.ts',
    // The document of this version. In the order of their names, 1.10.0 would precede 1.9.0.
    sources: () => {
      const documents = filesIn('docs/api', /openapi-[^/]+\.json$/);
      return documents.sort((one, other) => one.localeCompare(other, 'en', { numeric: true })).slice(-1);
    },
    command: (output, sources) => [
      // The tool needs TypeScript 5, which is installed for this package alone.
      'packages/client/node_modules/.bin/openapi-typescript',
      // A request may omit a field with a default.
      ...[...sources, '--output', output, '--default-non-nullable=false'],
    ],
  },
];

/** @param {string} path */
const changedAt = (path) => statSync(join(root, path), { throwIfNoEntry: false })?.mtimeMs ?? 0;

/** @param {Types} types @param {string[]} sources */
function isCurrent({ target }, sources) {
  // A removed file changes its directory, and a new release of a tool the lock file.
  const inputs = [...sources, ...sources.map(dirname), 'package-lock.json', 'scripts/lib/generate/types.mjs'];
  return changedAt(target) >= Math.max(...inputs.map(changedAt));
}

/** Needs the packages for development. */
export function writeTypes() {
  for (const types of all) {
    const sources = types.sources();
    if (isCurrent(types, sources)) continue;
    const target = join(root, types.target);
    const directory = mkdtempSync(`${target}.`);
    try {
      const output = join(directory, 'types.ts');
      const args = types.command(output, sources);
      execFileSync(nodeBinary, args, { cwd: root, stdio: ['ignore', 'ignore', 'inherit'] });
      rmSync(target, { recursive: true, force: true });
      renameSync(output, target);
    } finally {
      rmSync(directory, { recursive: true, force: true });
    }
  }
}
