/** Converts the services' schemas into a form that client generators understand. They describe the same values. */
import { TIMESTAMP_PATTERN } from '@fitness/contracts/timestamp.ts';
import { fieldText } from './operations.ts';
import { isObject, type Json, mapChildren, mapEntries, type Schema } from './schema.ts';

/** The direction of a body. A response may have further fields in a later release. */
type Direction = 'request' | 'response';

const INT32_MAX = 2 ** 31 - 1;

/** The extension that lists the known values of a text. A later release may add values. */
export const KNOWN_VALUES = 'x-extensible-enum';

/** The schema of a response. Its enumerations become open text, so that a new value is no breaking change. */
export const toResponseSchema = (schema: Schema): Schema =>
  toClientSchema(withOpenEnumerations(schema), 'response');

const withOpenEnumerations = (schema: Schema): Schema => {
  const { enum: values, ...rest } = mapChildren(schema, withOpenEnumerations);
  return values === undefined ? rest : { ...rest, [KNOWN_VALUES]: values };
};

export const toClientSchema = (input: Schema, direction: Direction): Schema => {
  const schema = mapChildren(input, (child) => toClientSchema(child, direction));
  delete schema.propertyNames;
  if (schema.additionalProperties === false) delete schema.additionalProperties;
  return withDescribedFields(
    withoutBackslashes(withNamedValues(nullable(withIntegerFormat(withoutConstantFlag(schema), direction)))),
  );
};

/** Describes a field by its schema, or by its name. A timestamp also gets its format, and an open text its known values. */
const withDescribedFields = (schema: Schema): Schema => {
  if (!isObject(schema.properties)) return schema;
  const properties = mapEntries(schema.properties, (field, name) => {
    if (!isObject(field)) return field;
    const text = field.description ?? (field.$ref === undefined ? fieldText(name) : undefined);
    if (text === undefined) return field;
    const addition = additionOf(field);
    if (addition === undefined) return { ...field, description: text };
    return { ...field, description: `${String(text).replace(/\.$/, '')}. ${addition}` };
  });
  return { ...schema, properties };
};

const additionOf = ({ pattern, [KNOWN_VALUES]: known }: Schema): string | undefined => {
  if (pattern === TIMESTAMP_PATTERN) return '`YYYY-MM-DD HH:MM:SS` in UTC.';
  if (!Array.isArray(known)) return undefined;
  return `Known values: ${known.map((value) => `\`${String(value)}\``).join(', ')}. Expect further ones.`;
};

/** Replaces a constant flag, for which generators would make an enumeration of strings. */
const withoutConstantFlag = ({ const: constant, ...rest }: Schema): Schema => {
  if (typeof constant !== 'boolean') return constant === undefined ? rest : { ...rest, const: constant };
  return { description: `Always \`${constant}\``, ...rest };
};

/** Without a format, generators use 32 bits. JavaScript's largest exact number is a limit for requests only. */
const withIntegerFormat = (schema: Schema, direction: Direction): Schema => {
  if (schema.type !== 'integer') return schema;
  const { minimum, maximum, exclusiveMinimum, ...rest } = schema;
  const lowest = typeof exclusiveMinimum === 'number' ? exclusiveMinimum + 1 : minimum;
  const isLimit = (limit: Json | undefined): boolean =>
    typeof limit === 'number' && (direction === 'request' || Math.abs(limit) < Number.MAX_SAFE_INTEGER);
  return {
    ...rest,
    format: typeof maximum === 'number' && maximum <= INT32_MAX ? 'int32' : 'int64',
    ...(isLimit(lowest) ? { minimum: lowest } : {}),
    ...(isLimit(maximum) ? { maximum } : {}),
  };
};

/** `anyOf` of a simple type and null → one nullable type. */
const nullable = (schema: Schema): Schema => {
  const { anyOf, ...rest } = schema;
  if (!Array.isArray(anyOf) || anyOf.length !== 2) return schema;
  const [value, none] = anyOf;
  if (!isObject(value) || !isObject(none) || none.type !== 'null') return schema;
  if (typeof value.type !== 'string' || value.enum !== undefined || value.type === 'object') return schema;
  return { ...value, ...rest, type: [value.type, 'null'] };
};

/** Names values such as `gyms.update`, for which generators would invent names such as `gymsPeriodUpdate`. */
const withNamedValues = (schema: Schema): Schema => {
  const values = schema.enum;
  if (!Array.isArray(values) || values.every((value) => /^[A-Za-z_]\w*$/.test(String(value)))) return schema;
  return { ...schema, 'x-enum-varnames': values.map((value) => nameOf(String(value))) };
};

const nameOf = (value: string): string => {
  const name = value.replaceAll(/\W+/g, '_').replace(/^(?=\d)/, 'value_');
  return name === '' ? 'empty' : name;
};

/** Generators do not escape backslashes in enumerated values, and code with `App\Models\Gym` does not compile. */
const withoutBackslashes = (schema: Schema): Schema => {
  const { enum: values, 'x-enum-varnames': _names, ...rest } = schema;
  if (!Array.isArray(values) || !values.some((value) => String(value).includes('\\'))) return schema;
  const alternatives = values.map((value) => String(value).replaceAll(/\W/g, String.raw`\$&`));
  const listed = `One of ${values.map((value) => `\`${String(value)}\``).join(', ')}`;
  const description = rest.description === undefined ? listed : `${String(rest.description)}\n\n${listed}`;
  return { ...rest, description, pattern: `^(?:${alternatives.join('|')})$`, examples: values };
};
