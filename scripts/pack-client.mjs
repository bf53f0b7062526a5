/**
 * `npm run client:pack`: builds packages/client as a package to install elsewhere, and packs it into .data. Inside this
 * repository its sources are imported directly.
 */
import { execFileSync } from 'node:child_process';
import { copyFileSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { dataDirectory, root } from './lib/paths.mjs';

const source = join(root, 'packages/client');
const target = mkdtempSync(join(tmpdir(), 'fitness-client-'));

process.once('exit', () => rmSync(target, { recursive: true, force: true }));
const args = ['-p', join(source, 'tsconfig.build.json'), '--outDir', target];
execFileSync(join(source, 'node_modules/.bin/tsc'), args, { stdio: 'inherit' });

/** @param {string} directory */
const manifestOf = (directory) => JSON.parse(readFileSync(join(directory, 'package.json'), 'utf8'));
const { name, version, description, dependencies } = manifestOf(source);
const { license } = manifestOf(root);
const manifest = {
  ...{ name, version, description, license },
  type: 'module',
  sideEffects: false,
  engines: { node: '>=20' },
  // `main` and `types` are for tools that do not read `exports`.
  main: './index.js',
  types: './index.d.ts',
  exports: { '.': { types: './index.d.ts', default: './index.js' } },
  dependencies,
};
writeFileSync(join(target, 'package.json'), `${JSON.stringify(manifest, null, 2)}\n`);
copyFileSync(join(source, 'README.md'), join(target, 'README.md'));

mkdirSync(dataDirectory, { recursive: true });
const options = { cwd: target, encoding: /** @type {const} */ ('utf8') };
const packed = execFileSync('npm', ['pack', '--silent', '--pack-destination', dataDirectory], options).trim();
console.log(`Packed ${join(dataDirectory, packed)}.`);
