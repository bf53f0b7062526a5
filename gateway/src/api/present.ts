/** Completes the merged document for clients: schemas for generators, names, descriptions, examples, links and errors. */
import { ERROR_CODES } from '@fitness/shared/http/openapi.ts';
import { DEFAULT_LOCALE, type Locale, translate } from '@fitness/shared/kernel/i18n/translate.ts';
import { toClientSchema, toResponseSchema } from './client-schemas.ts';
import { codeSamples } from './code-samples.ts';
import { createBodyNames, createErrorNames } from './component-names.ts';
import { DOCUMENT_TEXTS } from './document-texts.ts';
import { ERROR_BODIES, ERROR_CATALOGUE, errorRow } from './error-catalogue.ts';
import { errorExample, requestExample, responseExample } from './examples/index.ts';
import type { ApiDocument, Operation } from './openapi-merge.ts';
import { headersOf, linksOf, parameterText, tagsIn } from './operations.ts';
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
  const baseUrl = merged.servers[0]?.url ?? '';
  const paths = mapEntries(merged.paths, (item, path) =>
    mapEntries(item, (operation, method) => ({
      ...presentOperation(operation, context),
      'x-codeSamples': codeSamples({ method, path, baseUrl }, operation),
    })),
  );
  return {
    ...merged,
    info: { ...merged.info, description: introduction(DEFAULT_LOCALE) },
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

/**
 * The document of {@link presentDocument} with its title, introduction, tags and summaries in the language of `locale`. Everything
 * else is unchanged, so programs read the same document.
 */
export const documentIn = (locale: Locale, document: ApiDocument): ApiDocument => {
  const texts = DOCUMENT_TEXTS[locale];
  if (texts === undefined) return document;
  const tags = new Map(tagsIn(locale).map(({ name, title, description }) => [name, { title, description }]));
  return {
    ...document,
    info: {
      ...document.info,
      title: translate(locale, 'docs.title'),
      description: introduction(locale),
    },
    tags: document.tags.map((tag) => {
      const { title, description } = tags.get(tag.name) ?? {};
      return title === undefined ? tag : { ...tag, 'x-displayName': title, description };
    }),
    paths: mapEntries(document.paths, (item) =>
      mapEntries(item, (operation) => ({
        ...operation,
        summary: texts.operations[String(operation.operationId)] ?? operation.summary,
      })),
    ),
  };
};

/** The introduction, in Markdown. */
const introduction = (locale: Locale): string => {
  const exceptions = Object.entries(ERROR_BODIES).map(
    ([operation, statuses]) => `- \`${operation}\`: ${statuses.join(', ')}`,
  );
  const parts = [
    translate(locale, 'docs.intro'),
    translate(locale, 'docs.intro.errors'),
    exceptions.join('\n'),
  ];
  return parts.join('\n\n');
};

/** Known tags first, in their order. */
const presentTags = (names: readonly string[]): ApiDocument['tags'] => {
  const tags = tagsIn(DEFAULT_LOCALE).filter(({ name }) => names.includes(name));
  const unknown = names.filter((name) => tags.every((tag) => tag.name !== name));
  return [
    ...tags.map(({ name, description }) => ({ name, description })),
    ...unknown.map((name) => ({ name, description: name })),
  ];
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
    (code) => `- \`${code}\`: ${errorRow(code, Number(status))?.causes[DEFAULT_LOCALE] ?? code}`,
  );
  if (lines.length === 0) return response;
  return { ...response, description: `${String(response.description)}\n\n${lines.join('\n')}` };
};
