/** Every stored field declares how an erasure treats it. docs/erasure.md is generated from the declarations. */
import { type Declaration, privacyOf } from '@fitness/shared/mongo/privacy.ts';
import { expectByRecipe } from '@fitness/shared/testing/recipe.ts';
import { beforeAll, describe, expect, test } from '@jest/globals';
import type { Schema } from 'mongoose';
import { type Collection, databaseSources, loadCollections } from './schemas.ts';
import { read, SERVICES } from './support.ts';

interface DeclaredCollection extends Collection {
  declared: readonly Declaration[] | undefined;
}

let collections: DeclaredCollection[] = [];

beforeAll(async () => {
  collections = (await loadCollections()).map((collection) => ({
    ...collection,
    declared: privacyOf(collection.schema ?? collection.name),
  }));
});

interface Paths {
  leaves: string[];
  /** Mixed leaves, whose nested paths may be declared too. */
  open: string[];
}

const pathsOf = (schema: Schema, prefix = ''): Paths => {
  const paths: Paths = { leaves: [], open: [] };
  schema.eachPath((path, type) => {
    const inner = (type as { schema?: Schema }).schema;
    const name = `${prefix}${path}`;
    if (inner !== undefined) {
      const below = pathsOf(inner, `${name}.`);
      paths.leaves.push(...below.leaves);
      paths.open.push(...below.open);
      return;
    }
    paths.leaves.push(name);
    if (type.instance === 'Mixed') paths.open.push(name);
  });
  return paths;
};

const declaredPaths = ({ declared = [] }: DeclaredCollection): string[] =>
  declared.flatMap(({ paths }) => paths);

/** `service/collection.path` for every path that `find` returns for a collection. */
const among = (find: (collection: DeclaredCollection) => readonly string[]): string[] =>
  collections.flatMap((collection) =>
    find(collection).map((path) => `${collection.owner}/${collection.name}.${path}`),
  );

describe('declarations of erasure', () => {
  test('the collections of every service are found', () => {
    expect(collections.length).toBeGreaterThan(30);
    expect(new Set(collections.map((collection) => collection.owner)).size).toBe(SERVICES.length + 1);
  });

  test('every stored field is declared', () => {
    const missing = among((collection) => {
      if (collection.schema === undefined) return declaredPaths(collection).length === 0 ? ['?'] : [];
      const declared = new Set(declaredPaths(collection));
      return pathsOf(collection.schema).leaves.filter((path) => !declared.has(path));
    });
    expectByRecipe('stored-field', missing);
  });

  test('no declaration repeats a field or names an unknown one', () => {
    const wrong = among((collection) => {
      const declared = declaredPaths(collection);
      const twice = declared.filter((path, i) => declared.indexOf(path) !== i);
      if (collection.schema === undefined) return twice;
      const { leaves, open } = pathsOf(collection.schema);
      const unknown = declared.filter(
        (path) => !leaves.includes(path) && !open.some((below) => path.startsWith(`${below}.`)),
      );
      return [...unknown, ...twice];
    });
    expectByRecipe('stored-field', wrong);
  });

  test('every declaration has a reason', () => {
    const bare = among(({ declared = [] }) =>
      declared.filter(({ reason }) => !/\w{2}/.test(reason)).flatMap(({ paths }) => paths),
    );
    expect(bare).toEqual([]);
  });

  test('collections without a schema are declared too', () => {
    const users = databaseSources.filter((file) => /\bconnection\.collection[<(]/.test(read(file)));
    expect(users).not.toEqual([]);
    expect(users.filter((file) => !/\bcollectionPrivacy</.test(read(file)))).toEqual([]);
  });
});
