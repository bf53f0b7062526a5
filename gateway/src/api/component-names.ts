/** Gives names to the bodies of the operations: generators make classes of them, and invent names for those without one. */
import { isObject, type Json, REFERENCE, referenceOf, type Schema } from './schema.ts';

type Schemas = Record<string, Json>;

/** Named after what they hold, and shared by all operations that answer it: `{user: User}` is a `UserResponse`. */
const responseName = ({ type, properties }: Schema): string | undefined => {
  if (type !== 'object' || !isObject(properties)) return undefined;
  const fields = Object.keys(properties);
  const [first] = Object.values(properties);
  if (!isObject(first)) return undefined;
  if (fields.join() === 'data,links,meta') {
    const item = isObject(first.items) ? referenceOf(first.items) : undefined;
    return item === undefined ? undefined : `${item}List`;
  }
  if (fields.join() === 'message') return 'Message';
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
      return isNamed(schema) ? schema : add(responseName(schema) ?? own, own, schema);
    },
  };
};
