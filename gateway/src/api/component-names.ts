/** Names the bodies and errors of operations. Generators turn them into classes, and invent names where there is none. */
import { STATUS_CODES } from 'node:http';
import { responseText } from './operations.ts';
import { isObject, type Json, REFERENCE, referenceOf, type Schema } from './schema.ts';

type Schemas = Record<string, Json>;

/** The name of a response body after its content: `{user: User}` is a `UserResponse`. Several operations may share it. */
const responseName = ({ type, properties }: Schema, isError: boolean): string | undefined => {
  if (type !== 'object' || !isObject(properties)) return undefined;
  const fields = Object.keys(properties);
  const [first] = Object.values(properties);
  if (!isObject(first)) return undefined;
  if (fields.join() === 'data,links,meta') {
    const item = isObject(first.items) ? referenceOf(first.items) : undefined;
    return item === undefined ? undefined : `${item}List`;
  }
  if (fields.join() === 'message') return isError ? 'Error' : 'Message';
  const resource = fields.length === 1 ? referenceOf(first) : undefined;
  return resource === undefined ? undefined : `${resource}Response`;
};

const capitalized = (id: string): string => `${id.charAt(0).toUpperCase()}${id.slice(1)}`;

/** Adds bodies to `schemas`. */
export const createBodyNames = (schemas: Schemas) => {
  const add = (name: string, otherwise: string, schema: Schema): Schema => {
    const existing = schemas[name];
    const isFree = existing === undefined || JSON.stringify(existing) === JSON.stringify(schema);
    const chosen = isFree ? name : otherwise;
    schemas[chosen] = schema;
    return { $ref: `${REFERENCE}${chosen}` };
  };
  const isNamed = (schema: Schema): boolean => schema.$ref !== undefined || schema.type !== 'object';
  return {
    ofRequest: (schema: Schema, operationId: string): Schema => {
      const name = `${capitalized(operationId)}Request`;
      return isNamed(schema) ? schema : add(name, `${name}Body`, schema);
    },
    ofResponse: (schema: Schema, operationId: string, status: string): Schema => {
      const own = `${capitalized(operationId)}${status}`;
      return isNamed(schema) ? schema : add(responseName(schema, Number(status) >= 400) ?? own, own, schema);
    },
  };
};

/** Error bodies that do not depend on the operation. */
const COMMON_BODIES: ReadonlySet<string | undefined> = new Set([
  'Error',
  'Forbidden',
  'Unavailable',
  'ValidationError',
]);

const bodyNameOf = ({ content }: Schema): string | undefined => {
  const json = isObject(content) ? content['application/json'] : undefined;
  return isObject(json) && isObject(json.schema) ? referenceOf(json.schema) : undefined;
};

/** The status and the limit in the description: 413, `The JSON body is longer than 64 KiB.` → `PayloadTooLarge64KiB` */
const errorName = (status: string, description: string): string => {
  const limit = description === responseText(status) ? '' : (/\d.*$/.exec(description)?.[0] ?? description);
  return `${STATUS_CODES[status] ?? status}${limit}`.replaceAll(/\W/g, '');
};

/** Adds common errors to `responses`, and replaces them by references. Other errors stay where they are. */
export const createErrorNames =
  (responses: Record<string, Json>) =>
  (response: Schema, status: string): Schema => {
    if (!COMMON_BODIES.has(bodyNameOf(response))) return response;
    const name = errorName(status, String(response.description));
    responses[name] ??= response;
    const isSame = JSON.stringify(responses[name]) === JSON.stringify(response);
    return isSame ? { $ref: `#/components/responses/${name}` } : response;
  };
