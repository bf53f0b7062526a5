/** JSON Schema of the public document, and functions that traverse it. */
export type Json = null | boolean | number | string | Json[] | { [key: string]: Json | undefined };
export interface Schema {
  [keyword: string]: Json | undefined;
}

export const isObject = (value: Json | undefined): value is Schema =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

export const REFERENCE = '#/components/schemas/';

/** The name of the component that `schema` refers to. */
export const referenceOf = ({ $ref }: Schema): string | undefined =>
  typeof $ref === 'string' && $ref.startsWith(REFERENCE) ? $ref.slice(REFERENCE.length) : undefined;

/** `schema` with `change` made to every schema directly below it. */
export const mapChildren = (schema: Schema, change: (schema: Schema) => Schema): Schema => {
  const entries = Object.entries(schema).map(([keyword, value]): [string, Json | undefined] => {
    if (keyword === 'properties' && isObject(value))
      return [keyword, mapEntries(value, (entry) => (isObject(entry) ? change(entry) : entry))];
    if ((keyword === 'items' || keyword === 'additionalProperties') && isObject(value))
      return [keyword, change(value)];
    if ((keyword === 'anyOf' || keyword === 'oneOf' || keyword === 'allOf') && Array.isArray(value))
      return [keyword, value.map((entry) => (isObject(entry) ? change(entry) : entry))];
    return [keyword, value];
  });
  return Object.fromEntries(entries);
};

export const mapEntries = <Value, Result>(
  record: Readonly<Record<string, Value>>,
  change: (value: Value, key: string) => Result,
): Record<string, Result> =>
  Object.fromEntries(Object.entries(record).map(([key, value]) => [key, change(value, key)]));

export const sortByKey = <Value>(record: Record<string, Value>): Record<string, Value> =>
  Object.fromEntries(Object.entries(record).sort(([a], [b]) => (a < b ? -1 : 1)));
