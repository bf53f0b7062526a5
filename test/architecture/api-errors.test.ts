import type { Route } from '@fitness/shared/http/define-route.ts';
import { CATALOGUES } from '@fitness/shared/kernel/i18n/catalogue.ts';
import { expectByRecipe } from '@fitness/shared/testing/recipe.ts';
import { beforeAll, expect, test } from '@jest/globals';
import { ERROR_CATALOGUE, FIELD_MESSAGES } from '../../gateway/src/api/error-catalogue.ts';
import errorTexts from '../../gateway/src/api/error-texts.json' with { type: 'json' };
import { type ErrorCode, findErrorCodes } from './error-codes.ts';
import { loadRouteTables } from './route-tables.ts';

let routes: Route[];
let codes: ErrorCode[];

beforeAll(async () => {
  const all = [...(await loadRouteTables()).values()].flat() as unknown as Route[];
  routes = all.filter(({ isInternal }) => isInternal !== true);
  codes = findErrorCodes(routes);
  expect(codes.length).toBeGreaterThan(30);
});

test('every code that an operation declares is thrown with that status', () => {
  const thrown = new Set(codes.map(({ status, code }) => `${status} ${code}`));
  const unknown = routes.flatMap(({ method, path, errorCodes = {} }) =>
    Object.entries(errorCodes).flatMap(([status, declared]) =>
      declared
        .map((code) => `${status} ${code}`)
        .filter((error) => !thrown.has(error))
        .map((error) => `${method} ${path}: ${error}`),
    ),
  );
  expectByRecipe('text', unknown);
});

test('every error has a message in every language, a cause and a remedy', () => {
  const missing = ERROR_CATALOGUE.filter(
    ({ texts, cause, remedy }) =>
      ![...CATALOGUES.keys()].every((locale) => texts[locale]?.trim()) || !cause.trim() || !remedy.trim(),
  );
  expectByRecipe(
    'text',
    missing.map(({ code, status }) => [status, code]),
  );
});

test('no cause or remedy is that of an error that is never thrown', () => {
  const known = new Set(codes.flatMap(({ key, status }) => [key, String(status)]));
  const texts = [...Object.keys(errorTexts.causes), ...Object.keys(errorTexts.remedies)];
  expect(texts.filter((key) => !known.has(key))).toEqual([]);
});

test('a message of a field is not the text of an error with another status', () => {
  const atFields = new Set(FIELD_MESSAGES.map(({ en }) => en));
  expect(ERROR_CATALOGUE.filter(({ texts }) => atFields.has(texts.en))).toEqual([]);
});
