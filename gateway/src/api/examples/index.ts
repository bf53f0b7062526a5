/**
 * Examples of every request and response. A response is composed from the examples of its resources, which are declared once.
 * A test compares them with the schemas of the services.
 */
import { DEFAULT_LOCALE } from '@fitness/shared/kernel/i18n/translate.ts';
import { errorRow } from '../error-catalogue.ts';
import { isObject, type Json, referenceOf, type Schema } from '../schema.ts';
import { english } from './english.ts';
import { MONEY } from './money.ts';
import { ACCOUNT_DELETION_BY_STATUS, PEOPLE } from './people.ts';
import { PLACES } from './places.ts';
import { REQUESTS } from './requests.ts';

const COMMON = {
  PageLinks: {
    first: 'https://api.example.com/api/v1/posts?page=1',
    last: 'https://api.example.com/api/v1/posts?page=1',
    prev: null,
    next: null,
  },
  PageMeta: {
    current_page: 1,
    from: 1,
    to: 1,
    per_page: 30,
    last_page: 1,
    total: 1,
    path: 'https://api.example.com/api/v1/posts',
    next_cursor: null,
  },
  Message: { message: english('auth.password_changed') },
};

/** Examples of resources, by component name. */
const RESOURCES: Readonly<Record<string, unknown>> = {
  ...COMMON,
  ...PEOPLE,
  ...PLACES,
  ...MONEY,
  LicenseReplaced: { message: english('licenses.replaced'), code: 'license_replaced' },
  ProviderError: { message: english('payments.provider_error'), code: 'payments.provider_error' },
  LicenseReviewPageMeta: {
    ...COMMON.PageMeta,
    name_changes: [{ id: 12, reviewed_name: 'Sara Ahmadi' }],
  },
  NotificationPageMeta: { ...COMMON.PageMeta, unread_count: 1 },
};

/** Examples of schemas whose example depends on the status, by name and status. */
const BY_STATUS: Readonly<Record<string, Readonly<Record<string, unknown>>>> = {
  AccountDeletionResponse: ACCOUNT_DELETION_BY_STATUS,
};

const ERRORS: Readonly<Record<string, Parameters<typeof english>[0]>> = {
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

export const requestExample = (operationId: string): Json | undefined => REQUESTS[operationId] as Json;

/** Undefined for a schema without an example. A test reports such schemas. */
export const responseExample = (
  schema: Schema,
  components: Readonly<Schema>,
  status: string,
): Json | undefined =>
  (BY_STATUS[referenceOf(schema) ?? '']?.[status] as Json | undefined) ?? exampleOf(schema, components);

const exampleOf = (schema: Schema, components: Readonly<Schema>): Json | undefined => {
  const name = referenceOf(schema);
  if (name !== undefined) {
    const example = RESOURCES[name] as Json | undefined;
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
  const example = RESOURCES[schemaName] as Json | undefined;
  if (example !== undefined) return example;
  const row = code === undefined ? undefined : errorRow(code, Number(status));
  if (schemaName === 'CodedError' && row !== undefined) return { error: row.texts[DEFAULT_LOCALE], code };
  const key = ERRORS[status];
  return key === undefined ? undefined : { message: english(key) };
};
