/** The OpenAPI document of the routes, from the same schemas that check their input and output. */
import type { jsonSchemaTransformObject } from 'fastify-type-provider-zod';
import { z } from 'zod';
import { ALL_TOKEN_KINDS } from '../kernel/caller.ts';
import { type ErrorKind, OUTCOME_UNKNOWN, SECOND_FACTOR_REQUIRED } from '../kernel/error.ts';
import { DELEGABLE_PERMISSIONS, type Permission } from '../kernel/permissions.ts';
import { isRead } from './caching.ts';
import { bodyLimitOf, type Route, tokenKindsOf } from './define-route.ts';
import { CODED_STATUSES } from './error-handler.ts';
import { idempotencyKeySchema } from './validation.ts';

/** The OpenAPI schema of a route. */
export const openApiSchema = (route: Route): Record<string, unknown> => {
  if (route.isInternal === true) return { hide: true };
  const responses = Object.entries(route.responses).map(([status, schema]) => [
    status,
    schema ?? z.null().meta({ description: 'The response has no body.' }),
  ]);
  return {
    summary: route.summary,
    ...(route.description === undefined ? {} : { description: route.description }),
    tags: [route.tag],
    ...(route.params === undefined ? {} : { params: route.params }),
    ...(route.query === undefined ? {} : { querystring: route.query }),
    ...(route.body === undefined ? {} : { body: route.body }),
    ...(route.rawBodySchema === undefined
      ? {}
      : { body: route.rawBodySchema.fields, consumes: [route.rawBodySchema.mediaType] }),
    ...(route.produces === undefined ? {} : { produces: [...route.produces] }),
    ...(route.idempotent === true ? { headers: idempotencyHeaders } : {}),
    ...(isRead(route) ? { headers: conditionHeaders } : {}),
    security: securityOf(route),
    response: {
      ...errorResponses(route),
      ...(isRead(route) ? { 304: notModified } : {}),
      ...Object.fromEntries(responses),
    },
  };
};

/**
 * Alternatives of which one is enough. An app has only scopes that its user can grant. A route whose permissions cannot be
 * granted therefore has no alternative for apps.
 */
const securityOf = (route: Route): Record<string, readonly string[]>[] => {
  const { access, permissions, alsoNeeds = [] } = route;
  const isGrantable = (permission: Permission): boolean => DELEGABLE_PERMISSIONS.includes(permission);
  const alternatives = permissions === undefined ? [[]] : permissions.filter(isGrantable).map((one) => [one]);
  const isOpenToApps = tokenKindsOf(route).includes('oauth') && alsoNeeds.every(isGrantable);
  return [
    ...(access === 'user' ? [] : [{}]),
    { bearer: [] },
    ...(isOpenToApps ? alternatives.map((one) => ({ oauth: [...one, ...alsoNeeds] })) : []),
  ];
};

type Document = ReturnType<typeof jsonSchemaTransformObject>;

const conditionHeaders = z.object({
  'if-none-match': z.string().optional().meta({
    description:
      '`ETag` of an earlier response. While the content is the same, the response is 304 without a body.',
  }),
});
const notModified = z
  .null()
  .meta({ description: 'The content still matches the `ETag` in `If-None-Match`.' });

interface DocumentedOperation {
  parameters?: { in: string; schema?: { type?: unknown }; [field: string]: unknown }[];
  requestBody?: { required?: boolean };
  responses?: Record<string, { content?: Record<string, unknown> }>;
}

/** Adds to the generated document what the schemas do not say. `prefix`: of every path of the document. */
export const completeDocument = (document: Document, routes: readonly Route[], prefix: string): Document => {
  const byOperation = new Map(routes.map((route) => [`${route.method} ${route.path}`, route]));
  for (const [path, operations] of Object.entries(document.paths ?? {})) {
    for (const [method, value] of Object.entries(operations ?? {})) {
      const operation = value as DocumentedOperation;
      const ownPath = path.slice(prefix.length).replaceAll(/\{(\w+)\}/g, ':$1');
      const route = byOperation.get(`${method.toUpperCase()} ${ownPath}`);
      describeErrorsAsJson(operation);
      describeEtags(operation);
      if (route !== undefined) listErrorCodes(operation, route);
      if (route?.body !== undefined) describeBodyLimit(operation, bodyLimitOf(route));
      for (const parameter of operation.parameters ?? []) describeQuery(parameter);
      // A missing body is `{}`.
      if (operation.requestBody !== undefined && route?.body?.safeParse({}).success === true)
        operation.requestBody.required = false;
    }
  }
  return document;
};

/** Describes the ETag on the two responses to a read that have it. */
const describeEtags = ({ responses = {} }: DocumentedOperation): void => {
  if (responses[304] === undefined) return;
  for (const status of [200, 304]) {
    const etag = { description: 'Version of this content, for `If-None-Match`', schema: { type: 'string' } };
    Object.assign(responses[status] ?? {}, { headers: { ETag: etag } });
  }
};

const describeBodyLimit = ({ responses = {} }: DocumentedOperation, bytes: number): void => {
  Object.assign(responses[413] ?? {}, { description: `The JSON body is longer than ${bytes / 1024} KiB.` });
};

/** Errors are JSON on every route, whatever media type it produces. */
const describeErrorsAsJson = ({ responses = {} }: DocumentedOperation): void => {
  for (const [status, { content }] of Object.entries(responses)) {
    const [produced] = Object.values(content ?? {});
    if (Number(status) < 400 || content === undefined || produced === undefined) continue;
    for (const mediaType of Object.keys(content)) delete content[mediaType];
    content['application/json'] = produced;
  }
};

/** A response with several codes is one response of the document, so an extension lists them. */
const listErrorCodes = ({ responses = {} }: DocumentedOperation, route: Route): void => {
  for (const [status, codes] of Object.entries(errorCodesOf(route)))
    Object.assign(responses[status] ?? {}, { [ERROR_CODES]: codes });
};

/** An empty query parameter is treated as absent. A list is comma-separated. */
const describeQuery = (parameter: NonNullable<DocumentedOperation['parameters']>[number]): void => {
  if (parameter.in !== 'query') return;
  parameter.allowEmptyValue = true;
  if (parameter.schema?.type === 'array') Object.assign(parameter, { style: 'form', explode: false });
};

/** The extension of a response that lists the values of `code` in its body. */
export const ERROR_CODES = 'x-error-codes';

const BAD_REQUEST: ErrorKind = 'bad_request';
const NOT_FOUND: ErrorKind = 'not_found';
const INTERNAL: ErrorKind = 'internal';

/** Every value of `code` in the bodies of the errors of a route, by status. */
export const errorCodesOf = (route: Route): Record<string, string[]> => {
  const own: [status: number, code: string][] = Object.entries(route.errorCodes ?? {}).flatMap(
    ([status, codes]) => codes.map((code): [number, string] => [Number(status), code]),
  );
  const ofServer: [status: number, code: string][] = [
    [403, SECOND_FACTOR_REQUIRED],
    [503, OUTCOME_UNKNOWN],
  ];
  if (route.errorStyle === 'error_code') {
    ofServer.push([400, BAD_REQUEST], [500, INTERNAL]);
    if (route.params !== undefined) ofServer.push([404, NOT_FOUND]);
  }
  const byStatus = Map.groupBy([...own, ...ofServer], ([status]) => String(status));
  return Object.fromEntries(
    [...byStatus].map(([status, errors]) => [status, errors.map(([, code]) => code)]),
  );
};

const errorBody = z.object({ message: z.string() }).meta({ id: 'Error' });
const unavailableBody = z
  .object({
    message: z.string(),
    code: z
      .enum([OUTCOME_UNKNOWN])
      .optional()
      .meta({
        description:
          'Absent when nothing was changed. `outcome_unknown` when the request may have taken effect: read the resource, or ' +
          'repeat the request with the same `Idempotency-Key`.',
      }),
  })
  .meta({ id: 'Unavailable' });
const forbiddenBody = z
  .object({
    message: z.string(),
    code: z
      .enum([SECOND_FACTOR_REQUIRED])
      .optional()
      .meta({
        description:
          'Present when a role gives you operator permissions that you cannot use without two-factor authentication, and one ' +
          'of them may be what is missing. Turning it on does not always change the response.',
      }),
  })
  .meta({ id: 'Forbidden' });
const codedErrorBody = z.object({ error: z.string(), code: z.string() }).meta({ id: 'CodedError' });
const validationBody = z
  .object({
    message: z.string(),
    errors: z.record(z.string(), z.array(z.string())).meta({ description: 'Messages by field name' }),
  })
  .meta({ id: 'ValidationError' });

const idempotencyHeaders = z.object({
  'idempotency-key': idempotencyKeySchema.optional().meta({
    // Scalar shows a header in its samples only if the header has an example.
    examples: ['7c1f4f5e-6d0b-4a52-9b8e-3f2a90c1d7e4'],
    description:
      'Key of your choice, a new one for each purchase, deposit or withdrawal, e.g. a UUID. For 24 hours, repeating the ' +
      'request with its key returns the first response again, or 409 while the first request is still running. The same key ' +
      'with another request returns 422 under `idempotency_key`.',
  }),
});

/** The error responses of the server for this route, and those that the route declares in `errorStatuses`. */
const errorResponses = (route: Route): Record<number, z.ZodType> => {
  const takesBody = route.body !== undefined || route.rawBody === true;
  // 429: the gateway may limit the requests of an address on every route.
  const statuses = new Set([
    ...[401, 429, 500, 503],
    ...(route.errorStatuses ?? []),
    ...Object.keys(route.errorCodes ?? {}).map(Number),
  ]);
  if (takesBody) for (const status of [400, 408, 413, 415]) statuses.add(status);
  if (takesBody || route.query !== undefined) statuses.add(422);
  if (route.permissions !== undefined || tokenKindsOf(route) !== ALL_TOKEN_KINDS) statuses.add(403);
  if (route.params !== undefined)
    for (const status of route.access === 'user' ? [403, 404] : [404]) statuses.add(status);
  if (route.idempotent === true) for (const status of [409, 422]) statuses.add(status);
  return Object.fromEntries([...statuses].map((status) => [status, errorBodySchema(route, status)]));
};

/** The schema of every error of a route, by status. */
export const errorSchemasOf = (route: Route): Record<number, z.ZodType | null> => {
  const declared = Object.entries(route.responses).filter(([status]) => Number(status) >= 400);
  return { ...errorResponses(route), ...Object.fromEntries(declared) };
};

const errorBodySchema = (route: Route, status: number): z.ZodType => {
  if (status === 422) return validationBody;
  if (status === 503) return unavailableBody;
  if (status === 403) return forbiddenBody;
  return route.errorStyle === 'error_code' && CODED_STATUSES.has(status) ? codedErrorBody : errorBody;
};
