import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { CATALOGUES } from '@fitness/shared/kernel/i18n/translate.ts';
import { expect, test } from '@jest/globals';
import { ERROR_CATALOGUE } from '../../gateway/src/api/error-catalogue.ts';
import { findErrorCodes } from './error-codes.ts';
import { read, root } from './support.ts';

const FILE = 'gateway/src/api/error-codes.json';

test(`${FILE} has every code that the code throws; npm run generate writes it`, () => {
  const found = findErrorCodes();
  expect(found.length).toBeGreaterThan(30);
  const expected = `${JSON.stringify(found, null, 2)}\n`;
  if (process.env.UPDATE_DOCS === '1') writeFileSync(join(root, FILE), expected);
  expect(read(FILE)).toBe(expected);
});

test('every error has a text in every language', () => {
  const missing = ERROR_CATALOGUE.flatMap(({ code, status, texts }) =>
    [...CATALOGUES.keys()].filter((locale) => !texts[locale]?.trim()).map((locale) => [status, code, locale]),
  );
  expect(missing).toEqual([]);
});
