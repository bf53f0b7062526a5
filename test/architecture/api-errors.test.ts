import type { Route } from '@fitness/shared/http/define-route.ts';
import { CATALOGUES } from '@fitness/shared/kernel/i18n/catalogue.ts';
import { DEFAULT_LOCALE } from '@fitness/shared/kernel/i18n/translate.ts';
import { expectByRecipe } from '@fitness/shared/testing/recipe.ts';
import { beforeAll, expect, test } from '@jest/globals';
import { ERROR_CATALOGUE, FIELD_MESSAGES } from '../../gateway/src/api/error-catalogue.ts';
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

test('every error has a text, causes and remedies in every language', () => {
  const missing = ERROR_CATALOGUE.flatMap(({ code, status, texts, causes, remedies }) =>
    [...CATALOGUES.keys()]
      .filter((locale) => ![texts, causes, remedies].every((one) => one[locale]?.trim()))
      .map((locale) => [status, code, locale]),
  );
  expectByRecipe('text', missing);
});

test('no catalogue describes the cause of an error that is never thrown', () => {
  const keys = new Set(codes.map(({ key }) => key));
  const stale = Object.keys(CATALOGUES.get(DEFAULT_LOCALE) ?? {})
    .filter((key) => key.startsWith('docs.errors.cause.'))
    .filter((key) => !keys.has(key.replace('docs.errors.cause.', '')));
  expect(stale).toEqual([]);
});

test('a message of a field is not the text of an error with another status', () => {
  const atFields = new Set(FIELD_MESSAGES.map(({ en }) => en));
  expect(ERROR_CATALOGUE.filter(({ texts }) => atFields.has(texts.en))).toEqual([]);
});
