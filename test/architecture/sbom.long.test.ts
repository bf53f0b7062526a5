import { spawnSync } from 'node:child_process';
import { expect, test } from '@jest/globals';
import { read, root } from './support.ts';

interface Locked {
  version?: string;
  dev?: boolean;
  link?: boolean;
  optional?: boolean;
}

interface Bom {
  bomFormat: string;
  components: { group?: string; name: string; version: string; properties?: { name: string }[] }[];
}

test('npm run sbom lists every package in the image, and marks development packages', () => {
  const { stdout, stderr } = spawnSync('npm', ['run', '--silent', 'sbom'], { cwd: root, encoding: 'utf8' });
  if (stdout === '') throw new Error(stderr);
  const bom: Bom = JSON.parse(stdout);
  expect(bom.bomFormat).toBe('CycloneDX');
  const isForDevelopment = ({ properties = [] }: Bom['components'][number]): boolean =>
    properties.some(({ name }) => name === 'cdx:npm:package:development');
  const namesOf = (components: Bom['components']): Set<string> =>
    new Set(components.map(({ group, name, version }) => `${group ? `${group}/` : ''}${name}@${version}`));
  const listed = namesOf(bom.components.filter((component) => !isForDevelopment(component)));
  expect(bom.components.filter(isForDevelopment).length).toBeGreaterThan(100);
  const { packages }: { packages: Record<string, Locked> } = JSON.parse(read('package-lock.json'));
  // Optional packages are installed only on matching platforms.
  const shipped = Object.entries(packages).filter(
    ([path, { dev, link, optional }]) => path.includes('node_modules/') && !dev && !link && !optional,
  );
  expect(shipped.length).toBeGreaterThan(100);
  const names = shipped.map(([path, { version }]) => `${path.split('node_modules/').at(-1)}@${version}`);
  expect(names.filter((name) => !listed.has(name))).toEqual([]);
});
