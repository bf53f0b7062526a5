/** Gives names to the bodies and errors of the operations: generators make classes of them, and invent names for those without one. */
import { STATUS_CODES } from 'node:http';
import { responseText } from './operations.ts';
import { isObject, type Json, REFERENCE, referenceOf, type Schema } from './schema.ts';

type Schemas = Record<string, Json>;

/** Named after what they hold, and shared by all operations that answer it: `{user: User}` is a `UserResponse`. */
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
    const taken = schemas[name];
    const free = taken === undefined || JSON.stringify(taken) === JSON.stringify(schema) ? name : otherwise;
    schemas[free] = schema;
    return { $ref: `${REFERENCE}${free}` };
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

/** The bodies of errors in which nothing depends on the operation. */
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

/** `Payload Too Large`, with `The JSON body is longer than 64 KiB.`: `PayloadTooLarge64KiB` */
const errorName = (status: string, description: string): string => {
  const limit = description === responseText(status) ? '' : (/\d.*$/.exec(description)?.[0] ?? description);
  return `${STATUS_CODES[status] ?? status}${limit}`.replaceAll(/\W/g, '');
};

/** An error that many operations answer is added to `responses`, and they refer to it; another one stays where it is. */
export const createErrorNames =
  (responses: Record<string, Json>) =>
  (response: Schema, status: string): Schema => {
    if (!COMMON_BODIES.has(bodyNameOf(response))) return response;
    const name = errorName(status, String(response.description));
    responses[name] ??= response;
    const isSame = JSON.stringify(responses[name]) === JSON.stringify(response);
    return isSame ? { $ref: `#/components/responses/${name}` } : response;
  };
