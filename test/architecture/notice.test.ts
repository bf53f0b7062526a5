import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from '@jest/globals';
import { type Component, componentsOf, IMAGES } from './components.ts';
import { read, root } from './support.ts';

const ARCHITECTURES = ['x64', 'arm64'];

const HEAD = `The images fitness-platform and fitness-platform-sandbox contain the components below, each under its license.

The text of the license of a package is in its folder below /app/node_modules; where its authors publish none, the text is that
of the identifier at https://spdx.org/licenses. The components inside of libvips are in its THIRD-PARTY-NOTICES.md. The license of
Node.js and what it contains is /usr/local/LICENSE. Those of the system packages of Debian are
/usr/share/doc/<package>/copyright; \`npm run sbom -- <image>\` lists their versions.
`;

const line = ({ name, version }: Component): string => `  ${name} ${version}`;

const notice = (): string => {
  const components = componentsOf(Object.values(IMAGES).flat(), ARCHITECTURES);
  const licenses = [...new Set(components.map(({ license }) => license))].sort();
  const sections = licenses.map((license) =>
    [license, ...components.filter((component) => component.license === license).map(line)].join('\n'),
  );
  return `${[HEAD, ...sections].join('\n\n').replace('\n\n\n', '\n\n')}\n`;
};

test('NOTICE names every package of the images with its license; npm run generate writes it', () => {
  if (process.env.UPDATE_DOCS === '1') writeFileSync(join(root, 'NOTICE'), notice());
  expect(read('NOTICE')).toBe(notice());
});

/** Licenses that allow an operator to distribute a package without asking its authors. */
const ACCEPTED = [
  '(MIT OR Apache-2.0)',
  '(MIT OR CC0-1.0)',
  '(MIT OR EUPL-1.1+)',
  '0BSD',
  'Apache-2.0',
  'BSD-2-Clause',
  'BSD-3-Clause',
  'BlueOak-1.0.0',
  'ISC',
  'LGPL-3.0-or-later',
  'MIT',
  'MIT-0',
  'OFL-1.1',
  'PSF-2.0',
];

test('every package of the images has a license that allows distribution', () => {
  const components = componentsOf(Object.values(IMAGES).flat(), ARCHITECTURES);
  expect(components.length).toBeGreaterThan(200);
  expect(components.filter(({ license }) => !ACCEPTED.includes(license))).toEqual([]);
});

test('no image contains the TypeScript compiler, and the production image contains no emulator', () => {
  const namesIn = (image: keyof typeof IMAGES): string[] =>
    componentsOf(IMAGES[image], ARCHITECTURES).map(({ name }) => name);
  expect(namesIn('fitness-platform')).not.toContain('smtp-server');
  expect(namesIn('fitness-platform-sandbox')).toContain('smtp-server');
  for (const image of ['fitness-platform', 'fitness-platform-sandbox'] as const)
    expect(namesIn(image).filter((name) => /^typescript$|^@typescript\//.test(name))).toEqual([]);
});
