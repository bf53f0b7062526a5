/** Finds the mongoose schemas of all processes. */
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { collectionsWithoutSchema } from '@fitness/shared/mongo/privacy.ts';
import { expect } from '@jest/globals';
import mongoose, { type Schema } from 'mongoose';
import { productSources, read, root, SERVICES } from './support.ts';

/** Sources of processes that use a database. */
export const databaseSources = productSources.filter((file) => /^(?:packages|services)\//.test(file));

interface OwnedSchema {
  /** A service, or `every service`. */
  owner: string;
  schema: Schema;
}

/** Returns every schema. Each is recorded while the file that creates it is loaded. */
export const loadSchemas = async (): Promise<OwnedSchema[]> => {
  const schemas: OwnedSchema[] = [];
  let owner = '';
  const { prototype } = mongoose.Schema;
  const add = Reflect.get(prototype, 'add') as (this: Schema, ...args: unknown[]) => Schema;
  // Every schema's constructor calls this method.
  prototype.add = function (this: Schema, ...args: unknown[]) {
    if (!schemas.some(({ schema }) => schema === this)) schemas.push({ owner, schema: this });
    return add.apply(this, args);
  } as typeof add;
  try {
    const makers = databaseSources.filter((file) => /\bnew (?:mongoose\.)?Schema\b/.test(read(file)));
    for (owner of ['every service', ...SERVICES]) {
      const folder = owner === 'every service' ? 'packages/shared/' : `services/${owner}/src/`;
      const mine = makers.filter((file) => file.startsWith(folder));
      expect(mine).not.toEqual([]);
      for (const file of mine) await import(pathToFileURL(join(root, file)).href);
    }
  } finally {
    prototype.add = add;
  }
  return schemas;
};

export interface Collection {
  /** A service, or `every service`. */
  owner: string;
  name: string;
  /** Undefined for a collection without a schema. */
  schema: Schema | undefined;
}

/** Every collection of the product. */
export const loadCollections = async (): Promise<Collection[]> => {
  const schemas = await loadSchemas();
  for (const file of databaseSources.filter((name) => /\bcollectionPrivacy</.test(read(name))))
    await import(pathToFileURL(join(root, file)).href);
  const described = schemas.flatMap(({ owner, schema }): Collection[] => {
    const name: unknown = schema.get('collection');
    return typeof name === 'string' ? [{ owner, name, schema }] : [];
  });
  const others = collectionsWithoutSchema().map((name) => ({
    owner: 'every service',
    name,
    schema: undefined,
  }));
  return [...described, ...others];
};
