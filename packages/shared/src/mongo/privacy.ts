/**
 * What becomes of each stored field when the account of the person that it is about is erased (contract 2.2): said
 * beside its schema, in one of three words with a reason. `test/tidy/privacy.test.ts` reads the words of all services,
 * refuses a field without one and a word without its field, and keeps `docs/erasure.md` to what they say.
 */
import type { Schema } from 'mongoose';

/**
 * - `erase`: the value is gone once the service has handled the erasure; with its document, or replaced by nothing.
 * - `pseudonymise`: the value stays, and leads to nobody any more: it is the number of an account without a person.
 * - `retain`: the value stays as it is, for the reason given; or it says nothing about anybody.
 */
export type Handling = 'erase' | 'pseudonymise' | 'retain';

export interface Declaration<Path extends string = string> {
  handling: Handling;
  reason: string;
  paths: readonly Path[];
}

const declaring =
  (handling: Handling) =>
  <const Path extends string>(reason: string, ...paths: readonly Path[]): Declaration<Path> => ({
    handling,
    reason,
    paths,
  });

export const erase = declaring('erase');
export const pseudonymise = declaring('pseudonymise');
export const retain = declaring('retain');

/** A field of the document, or one inside it: `gateway.track_id`. */
type PathOf<Document> = '_id' | (keyof Document & string) | `${keyof Document & string}.${string}`;

const declared = new Map<object | string, readonly Declaration[]>();

/** Declares every path of a schema; one that holds anything (Mixed) as a whole, and what differs inside it besides. */
export const privacy = <Document>(
  schema: Schema<Document>,
  ...declarations: readonly Declaration<PathOf<Document>>[]
): void => {
  declared.set(schema, declarations);
};

/** The same for a collection that is used without a schema. */
export const collectionPrivacy = <Document>(
  collection: string,
  ...declarations: readonly Declaration<PathOf<Document>>[]
): void => {
  declared.set(collection, declarations);
};

/** By schema, and by name where a collection has none. */
export const privacyOf = (schemaOrCollection: object | string): readonly Declaration[] | undefined =>
  declared.get(schemaOrCollection);

/** The collections without a schema. */
export const undescribedCollections = (): string[] =>
  [...declared.keys()].filter((key) => typeof key === 'string');
