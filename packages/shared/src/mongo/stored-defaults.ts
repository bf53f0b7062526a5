/**
 * The defaults of a schema, for documents that are older than a field: `{ ...defaultsOf(schema), ...document }`. Mongoose stores
 * them with a new document, but does not add them to what `lean()` and the driver read.
 */
import type { Schema } from 'mongoose';

export const defaultsOf = ({ paths }: Pick<Schema, 'paths'>): Readonly<Record<string, unknown>> =>
  Object.fromEntries(
    Object.values(paths).flatMap(({ path, options }) =>
      options.default === undefined ? [] : [[path, options.default]],
    ),
  );
