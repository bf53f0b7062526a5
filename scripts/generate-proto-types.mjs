/**
 * `npm run proto`: generates TypeScript types for everything in proto/ into proto/gen. With `--check` it writes nothing,
 * and fails if proto/gen is out of date.
 */
import { execFileSync } from 'node:child_process';
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, relative } from 'node:path';
import { root } from './lib/paths.mjs';

const protoDirectory = join(root, 'proto');
const target = join(protoDirectory, 'gen');

/** @param {string} directory @param {string} extension @returns {string[]} relative paths, sorted */
function filesIn(directory, extension) {
  if (!existsSync(directory)) return [];
  return readdirSync(directory, { recursive: true })
    .map(String)
    .filter((name) => name.endsWith(extension) && !name.includes('node_modules'))
    .sort();
}

/** @param {string} outDirectory */
function generate(outDirectory) {
  const files = filesIn(protoDirectory, '.proto');
  if (files.length === 0) throw new Error(`There is no .proto file in ${relative(root, protoDirectory)}.`);
  // These options must match the ones that load the files at run time (packages/shared/src/grpc/load.ts).
  const options = ['--keepCase', '--longs=Number', '--enums=String', '--defaults', '--oneofs'];
  execFileSync(
    join(root, 'node_modules/.bin/proto-loader-gen-types'),
    [
      ...options,
      ...['--importFileExtension=.ts', '--grpcLib=@grpc/grpc-js'],
      ...['--includeDirs=proto', `--outDir=${outDirectory}`],
      ...files,
    ],
    { cwd: root, stdio: ['ignore', 'ignore', 'inherit'] },
  );
}

/** @returns {string[]} the files of proto/gen that are out of date */
function differences() {
  const fresh = mkdtempSync(join(tmpdir(), 'fitness-proto-'));
  try {
    generate(fresh);
    const names = new Set([...filesIn(fresh, '.ts'), ...filesIn(target, '.ts')]);
    const read = (/** @type {string} */ directory, /** @type {string} */ name) =>
      existsSync(join(directory, name)) ? readFileSync(join(directory, name), 'utf8') : undefined;
    return [...names].filter((name) => read(fresh, name) !== read(target, name));
  } finally {
    rmSync(fresh, { recursive: true, force: true });
  }
}

if (process.argv.includes('--check')) {
  const stale = differences();
  if (stale.length > 0) {
    console.error(`proto/gen is not up to date (run npm run proto): ${stale.join(', ')}`);
    process.exit(1);
  }
} else {
  rmSync(target, { recursive: true, force: true });
  generate(target);
  console.log(`Wrote ${filesIn(target, '.ts').length} files to proto/gen.`);
}
