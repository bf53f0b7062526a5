import { execFileSync } from 'node:child_process';
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { root } from '../paths.mjs';

const TARGET = 'proto/gen';

/** @param {string} directory @param {string} extension @returns {string[]} relative paths, sorted */
function filesIn(directory, extension) {
  return readdirSync(directory, { recursive: true })
    .map(String)
    .filter((name) => name.endsWith(extension) && !name.includes('node_modules'))
    .sort();
}

/** Types for everything in proto/. */
export function generate() {
  const files = filesIn(join(root, 'proto'), '.proto');
  const directory = mkdtempSync(join(tmpdir(), 'fitness-proto-'));
  // These options must match the ones that load the files at run time (packages/shared/src/grpc/load.ts).
  const options = ['--keepCase', '--longs=Number', '--enums=String', '--defaults', '--oneofs'];
  try {
    execFileSync(
      join(root, 'node_modules/.bin/proto-loader-gen-types'),
      [
        ...options,
        ...['--importFileExtension=.ts', '--grpcLib=@grpc/grpc-js'],
        ...['--includeDirs=proto', `--outDir=${directory}`],
        ...files,
      ],
      { cwd: root, stdio: ['ignore', 'ignore', 'inherit'] },
    );
    const entry = (/** @type {string} */ name, /** @type {string | undefined} */ text) => [
      join(TARGET, name),
      text,
    ];
    return Object.fromEntries([
      // A file that is no longer generated is removed.
      ...filesIn(join(root, TARGET), '.ts').map((name) => entry(name, undefined)),
      ...filesIn(directory, '.ts').map((name) => entry(name, readFileSync(join(directory, name), 'utf8'))),
    ]);
  } finally {
    rmSync(directory, { recursive: true, force: true });
  }
}
