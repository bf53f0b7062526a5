/** Finds the mongoose schemas of all processes. */
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { collectionsWithoutSchema } from '@fitness/shared/mongo/privacy.ts';
import mongoose, { type Schema } from 'mongoose';
import { productSources, read, root, SERVICES } from './support.ts';

/** Sources of processes that use a database. */
export const databaseSources = productSources.filter((file) => /^(?:packages|services)\//.test(file));

interface OwnedSchema {
  /** A service, or `every service`. */
  owner: string;
  schema: Schema;
}

/** Every schema. Each is recorded while a fresh copy of the file that creates it is loaded. */
const recordSchemas = async (): Promise<OwnedSchema[]> => {
  const schemas: OwnedSchema[] = [];
  let owner = '';
  const makers = databaseSources.filter((file) =>
    /\bnew (?:mongoose\.)?Schema\b|\b(?:schemaOf|sealSchemaOf)[<(]/.test(read(file)),
  );
  const load = (file: string, query = '') => import(pathToFileURL(join(root, file)).href + query);
  // Afterwards a copy loads no other file, so it creates only its own schemas.
  for (const file of makers) await load(file);
  const { prototype } = mongoose.Schema;
  const add = Reflect.get(prototype, 'add') as (this: Schema, ...args: unknown[]) => Schema;
  // Every schema's constructor calls this method.
  prototype.add = function (this: Schema, ...args: unknown[]) {
    if (!schemas.some(({ schema }) => schema === this)) schemas.push({ owner, schema: this });
    return add.apply(this, args);
  } as typeof add;
  try {
    for (owner of ['every service', ...SERVICES]) {
      const folder = owner === 'every service' ? 'packages/shared/' : `services/${owner}/src/`;
      const mine = makers.filter((file) => file.startsWith(folder));
      if (mine.length === 0) throw new Error(`no file in ${folder} creates a schema`);
      for (const file of mine) await load(file, '?copy');
    }
  } finally {
    prototype.add = add;
  }
  return schemas;
};

let recorded: Promise<OwnedSchema[]> | undefined;
export const loadSchemas = (): Promise<OwnedSchema[]> => {
  recorded ??= recordSchemas();
  return recorded;
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
