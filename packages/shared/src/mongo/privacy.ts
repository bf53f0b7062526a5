/**
 * Declares, beside its schema and with a reason, what an erasure does to each stored field.
 * `test/architecture/privacy.test.ts` requires a declaration for every field, and `docs/erasure.md` is generated from them.
 */
import type { Schema } from 'mongoose';

/**
 * - `erase`: the value is deleted, with or without its document.
 * - `pseudonymise`: the value stays; it is the id of an account that no longer has personal data.
 * - `retain`: the value stays for the given reason, or is not personal.
 */
export type Handling = 'erase' | 'pseudonymise' | 'retain';

export interface Declaration<Path extends string = string> {
  handling: Handling;
  reason: string;
  paths: readonly Path[];
}

const declarationOf =
  (handling: Handling) =>
  <const Path extends string>(reason: string, ...paths: readonly Path[]): Declaration<Path> => ({
    handling,
    reason,
    paths,
  });

export const erase = declarationOf('erase');
export const pseudonymise = declarationOf('pseudonymise');
export const retain = declarationOf('retain');

/** A field or a nested field: `gateway.track_id`. */
type PathOf<Document> = '_id' | (keyof Document & string) | `${keyof Document & string}.${string}`;

const declared = new Map<object | string, readonly Declaration[]>();

/** Declares every path of a schema. A Mixed path is declared as a whole; nested exceptions follow. */
export const privacy = <Document>(
  schema: Schema<Document>,
  ...declarations: readonly Declaration<PathOf<Document>>[]
): void => {
  declared.set(schema, declarations);
};

/** {@link privacy} for a collection without a schema. */
export const collectionPrivacy = <Document>(
  collection: string,
  ...declarations: readonly Declaration<PathOf<Document>>[]
): void => {
  declared.set(collection, declarations);
};

/** The declarations of a schema, or of a collection without a schema by its name. */
export const privacyOf = (schemaOrCollection: object | string): readonly Declaration[] | undefined =>
  declared.get(schemaOrCollection);

/** The names of the declared collections without a schema. */
export const collectionsWithoutSchema = (): string[] =>
  [...declared.keys()].filter((key) => typeof key === 'string');

/** Whether a stored field is personal: an erasure deletes its value. */
export type IsPersonal = (path: string) => boolean;

/** Reads the declarations of a schema. The declaration of a nested field takes precedence over that of its parent. */
export const personalFieldsOf = (schema: object): IsPersonal => {
  const handlings = new Map(
    (declared.get(schema) ?? []).flatMap(({ handling, paths }) => paths.map((path) => [path, handling])),
  );
  return (path) => {
    for (let prefix = path; prefix !== ''; prefix = prefix.slice(0, Math.max(0, prefix.lastIndexOf('.')))) {
      const handling = handlings.get(prefix);
      if (handling !== undefined) return handling === 'erase';
    }
    // This object is declared by its fields.
    return [...handlings].some(([name, handling]) => name.startsWith(`${path}.`) && handling === 'erase');
  };
};
