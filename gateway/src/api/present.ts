/** Completes the merged document for clients: schemas for generators, names, descriptions, examples, links and errors. */
import { ERROR_CODES } from '@fitness/shared/http/openapi.ts';
import { toClientSchema, toResponseSchema } from './client-schemas.ts';
import { createBodyNames, createErrorNames } from './component-names.ts';
import { ERROR_BODIES, ERROR_CATALOGUE, errorRow } from './error-catalogue.ts';
import { errorExample, requestExample, responseExample } from './examples/index.ts';
import type { ApiDocument, Operation } from './openapi-merge.ts';
import { headersOf, linksOf, parameterText, TAGS } from './operations.ts';
import { isObject, type Json, mapEntries, referenceOf, type Schema, sortByKey } from './schema.ts';

type BodyNames = ReturnType<typeof createBodyNames>;

interface Context {
  names: BodyNames;
  nameError: ReturnType<typeof createErrorNames>;
  schemas: Schema;
  operationIds: ReadonlySet<string>;
}

/** Does not modify `merged`. */
export const presentDocument = (merged: ApiDocument): ApiDocument => {
  const schemas = mapEntries(merged.components.schemas as Record<string, Schema>, toResponseSchema);
  const errors: Record<string, Json> = {};
  const all = Object.values(merged.paths).flatMap((item) => Object.values(item));
  const context: Context = {
    schemas,
    names: createBodyNames(schemas as Record<string, Json>),
    nameError: createErrorNames(errors),
    operationIds: new Set(all.map(({ operationId }) => String(operationId))),
  };
  const paths = mapEntries(merged.paths, (item) =>
    mapEntries(item, (operation) => presentOperation(operation, context)),
  );
  return {
    ...merged,
    info: { ...merged.info, description: introduction() },
    tags: presentTags(merged.tags.map(({ name }) => name)),
    paths,
    components: {
      ...merged.components,
      schemas: sortByKey(schemas) as ApiDocument['components']['schemas'],
      responses: sortByKey(errors),
    },
    [ERROR_CODES]: ERROR_CATALOGUE.map(({ status, code, texts }) => ({ status, code, texts })),
  };
};

const INTRODUCTION = `Manage the users, gyms, posts, training services, payments, and in-app purchases of a fitness platform. \
Timestamps are \`YYYY-MM-DD HH:MM:SS\` in UTC, amounts are whole Tooman, and texts follow \`Accept-Language\` (\`en\`, \`fa\`). \
An empty query parameter is treated as absent, and a missing body as an empty object.

Every error has a text in \`message\`. A 422 also has \`errors\` with messages by field. Some errors have a \`code\`, which stays \
the same in every language and release. [All errors](/docs/errors), with what to do.

These errors have \`error\` and \`code\` instead of \`message\`:`;

/** In Markdown. */
const introduction = (): string => {
  const exceptions = Object.entries(ERROR_BODIES).map(
    ([operation, statuses]) => `- \`${operation}\`: ${statuses.join(', ')}`,
  );
  return `${INTRODUCTION}\n\n${exceptions.join('\n')}`;
};

/** Known tags first, in their order. */
const presentTags = (names: readonly string[]): ApiDocument['tags'] => {
  const known = Object.keys(TAGS).filter((name) => names.includes(name));
  const unknown = names.filter((name) => !(name in TAGS));
  return [...known, ...unknown].map((name) => ({ name, description: TAGS[name] ?? name }));
};

/**
 * Moves the scopes that open an operation to apps, as alternatives, into an extension. If they were security requirements,
 * clients of typescript-fetch would send every token without `Bearer`.
 */
const withScopeExtension = ({ security }: Operation): Operation => {
  if (!Array.isArray(security)) return {};
  const scopes = security.flatMap((one) => (isObject(one) && one.oauth !== undefined ? [one.oauth] : []));
  return {
    security: security.filter((one) => !isObject(one) || one.oauth === undefined),
    ...(scopes.length === 0 ? {} : { 'x-oauth-scopes': scopes }),
  };
};

const presentOperation = (operation: Operation, context: Context): Operation => {
  const { requestBody, parameters, responses } = operation;
  const operationId = String(operation.operationId);
  return {
    ...operation,
    ...withScopeExtension(operation),
    description: operation.description ?? String(operation.summary),
    ...(Array.isArray(parameters) ? { parameters: parameters.map(presentParameter) } : {}),
    ...(isObject(requestBody) ? { requestBody: presentRequest(requestBody, operationId, context) } : {}),
    responses: isObject(responses)
      ? mapEntries(responses, (response, status) =>
          isObject(response) ? presentResponse(response, { operationId, status }, context) : response,
        )
      : {},
  };
};

const presentParameter = (parameter: Json): Json => {
  if (!isObject(parameter) || !isObject(parameter.schema)) return parameter;
  const description = parameter.description ?? parameterText(String(parameter.name));
  return { ...parameter, description, schema: toClientSchema(parameter.schema, 'request') };
};

/** `content` with `change` made to each of its media types that has a schema. */
const mapContent = (
  { content, ...rest }: Schema,
  change: (schema: Schema, mediaType: string) => Schema,
): Schema => {
  if (!isObject(content)) return rest;
  const mapped = mapEntries(content, (media, type) =>
    isObject(media) && isObject(media.schema) ? { ...media, ...change(media.schema, type) } : media,
  );
  return { ...rest, content: mapped };
};

const withExample = (schema: Schema, example: Json | undefined): Schema =>
  example === undefined ? { schema } : { schema, example };

const presentRequest = (body: Schema, operationId: string, { names }: Context): Schema =>
  mapContent(body, (schema) =>
    withExample(names.ofRequest(toClientSchema(schema, 'request'), operationId), requestExample(operationId)),
  );

const presentResponse = (
  response: Schema,
  { operationId, status }: { operationId: string; status: string },
  context: Context,
): Schema => {
  const headers = headersOf(operationId, status);
  const links = linksOf(operationId, status, context.operationIds);
  const body = mapContent(response, (source, mediaType) => {
    if (mediaType !== 'application/json') return { schema: toResponseSchema(source) };
    const schema = context.names.ofResponse(toResponseSchema(source), operationId, status);
    const example =
      Number(status) < 400
        ? responseExample(schema, context.schemas, status)
        : errorExample(status, referenceOf(schema) ?? '', codesIn(response)[0]);
    return withExample(schema, example);
  });
  const presented = {
    ...body,
    ...(headers === undefined ? {} : { headers }),
    ...(links === undefined ? {} : { links }),
  };
  if (Number(status) < 400) return presented;
  const named = context.nameError(presented, status);
  // A common error describes its code at the field.
  return named === presented ? withCodes(presented, status) : named;
};

const codesIn = ({ [ERROR_CODES]: codes }: Schema): string[] =>
  Array.isArray(codes) ? codes.map(String) : [];

/** Lists the codes of a response with their causes. */
const withCodes = (response: Schema, status: string): Schema => {
  const lines = codesIn(response).map(
    (code) => `- \`${code}\`: ${errorRow(code, Number(status))?.cause ?? code}`,
  );
  if (lines.length === 0) return response;
  return { ...response, description: `${String(response.description)}\n\n${lines.join('\n')}` };
};
