/**
 * Each stored field is declared once: its definition, and with a reason what an erasure does to it.
 * `test/architecture/privacy.test.ts` requires a declaration for every field, and `docs/erasure.md` is generated from them.
 */
import { Schema, type SchemaDefinition, type SchemaOptions } from 'mongoose';

/**
 * - `erase`: the value is deleted, with or without its document.
 * - `pseudonymise`: the value stays; it is the id of an account that no longer has personal data.
 * - `retain`: the value stays for the given reason, or is not personal.
 */
export type Handling = 'erase' | 'pseudonymise' | 'retain';

/** Fields with their definitions, or a nested field: `gateway.track_id`. */
type Part<Document> =
  | SchemaDefinition<Document>
  | '_id'
  | (keyof Document & string)
  | `${keyof Document & string}.${string}`;

export interface Declaration<Document = unknown> {
  handling: Handling;
  reason: string;
  paths: readonly string[];
  fields: SchemaDefinition<Document>;
}

const declarationOf =
  (handling: Handling) =>
  <Document>(reason: string, ...parts: readonly NoInfer<Part<Document>>[]): Declaration<Document> => ({
    handling,
    reason,
    paths: parts.flatMap((part) => (typeof part === 'string' ? [part] : Object.keys(part))),
    fields: Object.assign({}, ...parts.filter((part) => typeof part !== 'string')),
  });

export const erase = declarationOf('erase');
export const pseudonymise = declarationOf('pseudonymise');
export const retain = declarationOf('retain');

const declared = new Map<object | string, readonly Declaration[]>();

/**
 * A schema of the declared fields. A Mixed field is declared as a whole; nested exceptions follow. The declarations name the fields
 * of the objects in `nested` by their paths.
 */
export const schemaOf = <Document>(
  options: SchemaOptions & { nested?: SchemaDefinition<Document> },
  ...declarations: readonly Declaration<Document>[]
): Schema<Document> => {
  const { nested, ...settings } = options;
  const fields = Object.assign({}, ...declarations.map((declaration) => declaration.fields), nested);
  const schema = new Schema(fields, settings) as unknown as Schema<Document>;
  declared.set(schema, declarations);
  return schema;
};

/** Declares the fields of a collection without a schema. */
export const collectionPrivacy = <Document>(
  collection: string,
  ...declarations: readonly Declaration<Document>[]
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
