/**
 * Examples of every request and response. A response is composed from the examples of its resources, which are declared once.
 * `{"$text": key}` is a text of the catalogue with its parameters, and `{"$example": name}` another example. A test compares the
 * examples with the schemas of the services.
 */
import type { MessageKey, MessageParams } from '@fitness/shared/kernel/i18n/catalogue.ts';
import { DEFAULT_LOCALE, translate } from '@fitness/shared/kernel/i18n/translate.ts';
import { errorRow } from '../error-catalogue.ts';
import { isObject, type Json, mapEntries, referenceOf, type Schema } from '../schema.ts';
import common from './common.json' with { type: 'json' };
import money from './money.json' with { type: 'json' };
import people from './people.json' with { type: 'json' };
import places from './places.json' with { type: 'json' };
import REQUESTS from './requests.json' with { type: 'json' };

/** The key is the name of a component, or its name and a status if the response depends on the status. */
const DATA: Readonly<Schema> = { ...common, ...people, ...places, ...money };

const english = (key: string, params: Readonly<Schema> = {}): string => {
  const text = translate('en', key as MessageKey, params as MessageParams);
  if (text === key) throw new Error(`an example has the text ${key}, which does not exist`);
  return text;
};

const resolve = (value: Json | undefined): Json => {
  if (Array.isArray(value)) return value.map(resolve);
  if (!isObject(value)) return value ?? null;
  const { $text, $example, ...params } = value;
  if (typeof $text === 'string') return english($text, params);
  if (typeof $example !== 'string') return mapEntries(value, resolve);
  if (DATA[$example] === undefined) throw new Error(`there is no example ${$example}`);
  return resolve(DATA[$example]);
};

const RESOURCES: Readonly<Record<string, Json>> = mapEntries(DATA, resolve);

const ERRORS: Readonly<Record<string, MessageKey>> = {
  400: 'error.bad_request',
  401: 'error.unauthenticated',
  403: 'error.forbidden',
  404: 'error.not_found',
  408: 'error.request_timeout',
  409: 'error.conflict',
  413: 'error.too_large',
  415: 'error.unsupported_media_type',
  429: 'error.rate_limited',
  500: 'error.internal',
  503: 'error.unavailable',
};

export const requestExample = (operationId: string): Json | undefined =>
  (REQUESTS as Readonly<Schema>)[operationId];

/** Undefined for a schema without an example. A test reports such schemas. */
export const responseExample = (
  schema: Schema,
  components: Readonly<Schema>,
  status: string,
): Json | undefined => RESOURCES[`${referenceOf(schema)} ${status}`] ?? exampleOf(schema, components);

const exampleOf = (schema: Schema, components: Readonly<Schema>): Json | undefined => {
  const name = referenceOf(schema);
  if (name !== undefined) {
    const example = RESOURCES[name];
    const component = components[name];
    return example ?? (isObject(component) ? exampleOf(component, components) : undefined);
  }
  if (schema.type === 'array' && isObject(schema.items)) {
    const item = exampleOf(schema.items, components);
    return item === undefined ? undefined : [item];
  }
  if (!isObject(schema.properties)) return undefined;
  const entries = Object.entries(schema.properties).map(([field, value]) => [
    field,
    isObject(value) ? exampleOf(value, components) : undefined,
  ]);
  return entries.every(([, value]) => value !== undefined) ? Object.fromEntries(entries) : undefined;
};

/** @param code the first code that the response may have */
export const errorExample = (
  status: string,
  schemaName: string,
  code: string | undefined,
): Json | undefined => {
  if (status === '422')
    return { message: english('error.validation'), errors: { phone: [english('validation.required')] } };
  const example = RESOURCES[schemaName];
  if (example !== undefined) return example;
  const row = code === undefined ? undefined : errorRow(code, Number(status));
  if (schemaName === 'CodedError' && row !== undefined) return { error: row.texts[DEFAULT_LOCALE], code };
  const key = ERRORS[status];
  return key === undefined ? undefined : { message: english(key) };
};
