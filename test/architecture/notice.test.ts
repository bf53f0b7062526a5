import { expect, test } from '@jest/globals';
import { componentsOf, IMAGES } from './components.ts';
import { ARCHITECTURES } from './generated/notice.ts';

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
