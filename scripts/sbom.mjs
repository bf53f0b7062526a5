/**
 * `npm run sbom`: prints the bill of materials (CycloneDX) of the packages in the lock file, as npm writes it. `npm run sbom -- <image>`
 * prints that of an image: its npm packages, Node.js and Debian packages.
 */
import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { root } from './lib/paths.mjs';

/** This script runs in the image, which has Node and dpkg. */
const LIST = `
const { execFileSync } = require('node:child_process');
const { readFileSync, readdirSync } = require('node:fs');
const { dirname, join } = require('node:path');
const packages = readdirSync('/app', { recursive: true })
  .filter((path) => /(?:^|\\/)node_modules\\/(?:@[^/]+\\/)?[^/@]+\\/package\\.json$/.test(path))
  .map((path) => JSON.parse(readFileSync(join('/app', path), 'utf8')))
  .filter(({ name, version }) => name && version)
  .map(({ name, version, license }) => ({ name, version, license }));
const format = '\${Package}\\t\${Version}\\t\${Architecture}\\n';
const system = execFileSync('dpkg-query', ['--show', '--showformat', format], { encoding: 'utf8' }).trim().split('\\n');
const [, distribution] = /^VERSION_CODENAME=(.*)$/m.exec(readFileSync('/etc/os-release', 'utf8')) ?? [];
console.log(JSON.stringify({ packages, system, distribution, node: process.versions.node }));
`;

/** @param {string} command @param {string[]} args */
const output = (command, args) => {
  const { status, stdout, stderr, error } = spawnSync(command, args, {
    cwd: root,
    encoding: 'utf8',
    maxBuffer: 2 ** 28,
  });
  if (status === 0) return stdout;
  console.error(error?.message ?? stderr);
  process.exit(status || 1);
};

/** @param {string} name @param {string} version @param {string} purl @param {string} [license] */
const component = (name, version, purl, license) => ({
  type: 'library',
  'bom-ref': purl,
  name,
  version,
  purl,
  ...(license
    ? { licenses: [/[ (]/.test(license) ? { expression: license } : { license: { id: license } }] }
    : {}),
});

/** @param {string} image */
const ofImage = (image) => {
  const run = ['run', '--rm', '--network', 'none', '--entrypoint', 'node', image, '--eval', LIST];
  const { packages, system, distribution, node } = JSON.parse(output('docker', run));
  /** @type {ReturnType<typeof component>[]} */
  const ofNpm = packages.map((/** @type {Record<string, string>} */ { name = '', version = '', license }) =>
    component(name, version, `pkg:npm/${name.replace('@', '%40')}@${version}`, license),
  );
  /** @type {ReturnType<typeof component>[]} */
  const ofDebian = system.map((/** @type {string} */ line) => {
    const [name = '', version = '', arch = ''] = line.split('\t');
    const encoded = `${encodeURIComponent(name)}@${encodeURIComponent(version)}`;
    return component(name, version, `pkg:deb/debian/${encoded}?arch=${arch}&distro=${distribution ?? ''}`);
  });
  const all = [component('node', node, `pkg:generic/node@${node}`), ...ofNpm, ...ofDebian];
  const { version } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'));
  return {
    bomFormat: 'CycloneDX',
    specVersion: '1.5',
    version: 1,
    metadata: { component: { type: 'container', name: image, version } },
    components: [...new Map(all.map((each) => [each.purl, each])).values()],
  };
};

/** @param {string[]} options @returns {{ components: { 'bom-ref': string, properties: { name: string }[] }[] }} */
const byNpm = (...options) =>
  JSON.parse(output('npm', ['sbom', '--sbom-format=cyclonedx', '--sbom-type=application', ...options]));

/** npm marks a package as one for development if any of its copies is one. */
const ofLockFile = () => {
  const bom = byNpm();
  const shipped = new Set(byNpm('--omit=dev').components.map((each) => each['bom-ref']));
  for (const each of bom.components)
    if (shipped.has(each['bom-ref']))
      each.properties = each.properties.filter(({ name }) => name !== 'cdx:npm:package:development');
  return bom;
};

const [image] = process.argv.slice(2);
console.log(JSON.stringify(image === undefined ? ofLockFile() : ofImage(image), null, 2));
