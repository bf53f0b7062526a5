import { isDeepStrictEqual } from 'node:util';
import { OAUTH_SCOPES } from '@fitness/contracts/oauth.ts';
import { TIMESTAMP_PATTERN } from '@fitness/contracts/timestamp.ts';
import { tokenKindsOf } from '@fitness/shared/http/define-route.ts';
import { errorCodesOf } from '@fitness/shared/http/openapi.ts';
import { DAY_MS } from '@fitness/shared/kernel/clock.ts';
import { expectByRecipe } from '@fitness/shared/testing/recipe.ts';
import { beforeAll, describe, expect, test } from '@jest/globals';
import { Ajv2020 } from 'ajv/dist/2020.js';
import addFormats from 'ajv-formats';
import type { ApiDocument, Operation } from '../../gateway/src/api/openapi-merge.ts';
import LINKS from '../../gateway/src/api/operation-links.json' with { type: 'json' };
import { TAGS } from '../../gateway/src/api/operations.ts';
import { referenceOf, type Schema } from '../../gateway/src/api/schema.ts';
import { loadApiDocument } from '../../scripts/lib/api-document.mjs';
import { CHANNEL_NAMES } from '../../services/store-billing/src/channels/index.ts';
import { loadRouteTables, type Route } from './route-tables.ts';
import { longSentences, WORDS } from './wording.ts';

interface NamedOperation extends Operation {
  method: string;
  path: string;
}
interface Body {
  schema: Schema;
  example?: unknown;
}
interface Response {
  description: string;
  'x-error-codes'?: string[];
  headers?: Record<string, { description: string }>;
  links?: Record<string, { operationId: string; parameters: Record<string, string> }>;
  content?: Record<string, Body>;
}

let document: ApiDocument;
let operations: NamedOperation[];
let routes: Map<string, Route>;

beforeAll(async () => {
  document = await loadApiDocument();
  operations = Object.entries(document.paths).flatMap(([path, item]) =>
    Object.entries(item).map(([method, operation]) => ({ ...operation, method, path })),
  );
  const tables = [...(await loadRouteTables()).values()].flat();
  routes = new Map(tables.map((route) => [`${route.method} ${route.path}`, route]));
});

const routeOf = ({ method, path }: NamedOperation): Route => {
  const own = path.replace('/api/v1', '').replaceAll(/\{(\w+)\}/g, ':$1');
  return routes.get(`${method.toUpperCase()} ${own}`) as Route;
};
/** An operation's responses, including those that it refers to. */
const responsesOf = ({ responses }: NamedOperation): [string, Response][] =>
  Object.entries(responses as unknown as Record<string, Response & { $ref?: string }>).map(
    ([status, { $ref, ...own }]) => {
      const common = document.components.responses?.[$ref?.split('/').at(-1) ?? ''];
      return [status, $ref === undefined ? own : (common as unknown as Response)];
    },
  );
const bodyOf = ({ requestBody }: NamedOperation): [string, Body][] =>
  Object.entries((requestBody as { content?: Record<string, Body> } | undefined)?.content ?? {});
const nameOf = ({ method, path }: NamedOperation): string => `${method.toUpperCase()} ${path}`;

/** Every schema in the document, with its location. */
const schemasIn = (value: unknown, place = ''): [string, Schema][] => {
  if (Array.isArray(value)) return value.flatMap((entry, i) => schemasIn(entry, `${place}/${i}`));
  if (typeof value !== 'object' || value === null) return [];
  const below = Object.entries(value).flatMap(([key, entry]) =>
    ['example', 'examples', 'x-error-codes', 'enum'].includes(key) ? [] : schemasIn(entry, `${place}/${key}`),
  );
  return [[place, value as Schema], ...below];
};

interface Field {
  place: string;
  name: string;
  field: Schema;
}

/** Every property in the components. The document has no bodies elsewhere. */
const fieldsIn = ({ components }: ApiDocument): Field[] =>
  schemasIn(components.schemas).flatMap(([place, { properties }]) =>
    place.endsWith('/properties') || properties === undefined
      ? []
      : Object.entries(properties as Record<string, Schema>).map(([name, field]) => ({
          place: `${place}/${name}`,
          name,
          field,
        })),
  );

/** The field's own description, or that of its component. */
const descriptionOf = (field: Schema): string => {
  const component = document.components.schemas[referenceOf(field) ?? ''] as Schema | undefined;
  return String(field.description ?? component?.description ?? '');
};

const isNumber = ({ type }: Schema): boolean =>
  [type].flat().some((one) => one === 'integer' || one === 'number');

/** Locations of schemas for which `check` holds. */
const places = (check: (schema: Schema) => boolean): string[] =>
  schemasIn({ paths: document.paths, components: document.components })
    .filter(([, schema]) => check(schema))
    .map(([place]) => place);

describe('client generation from the document', () => {
  test('responses may contain additional fields', () => {
    expect(places((schema) => schema.additionalProperties === false)).toEqual([]);
  });

  test('no response enumerates its values, and only the scheme of a token is a constant', () => {
    const closed = places((schema) => schema.enum !== undefined || typeof schema.const === 'string');
    expect(closed.filter((place) => !/Request\/|\/parameters\/\d/.test(place))).toEqual([
      '/components/schemas/SignedIn/properties/token_type',
    ]);
  });

  test('null appears only as the alternative of a nullable value', () => {
    const lone = places((schema) => schema.type === 'null').filter((place) => !/\/anyOf\/1$/.test(place));
    expect(lone).toEqual([]);
  });

  test('every union is a value or null', () => {
    const unions = places(
      ({ anyOf, oneOf }) =>
        oneOf !== undefined ||
        (Array.isArray(anyOf) && (anyOf.length !== 2 || (anyOf[1] as Schema).type !== 'null')),
    );
    expect(unions).toEqual([]);
  });

  test('no boolean is a constant', () => {
    expect(places((schema) => typeof schema.const === 'boolean')).toEqual([]);
  });

  test('no enumerated value contains a backslash', () => {
    expect(places((schema) => JSON.stringify(schema.enum ?? []).includes('\\'))).toEqual([]);
  });

  test('every integer has a format, and an amount of 3,030,000,000 Rial fits', () => {
    const types = (schema: Schema): unknown[] => [schema.type].flat();
    expect(places((schema) => types(schema).includes('integer') && schema.format === undefined)).toEqual([]);
    const { charged_rial: amount } = (
      document.components.schemas.PaymentMeta as unknown as {
        properties: Record<string, Schema>;
      }
    ).properties;
    expect(amount).toMatchObject({ type: 'integer', format: 'int64' });
  });

  test('ids, pages and prices in queries are numbers or lists of numbers', () => {
    const text = operations.flatMap((operation) =>
      ((operation.parameters ?? []) as unknown as { name: string; in: string; schema: Schema }[])
        .filter(({ in: where, name }) => where === 'query' && /page$|_ids?$|_price$/.test(name))
        .filter(({ schema }) => !['integer', 'array'].includes(String(schema.type)))
        .map(({ name }) => `${nameOf(operation)} ${name}`),
    );
    expect(text).toEqual([]);
  });

  test('every body is a named component', () => {
    const nameless = operations.flatMap((operation) =>
      [
        ...bodyOf(operation),
        ...responsesOf(operation).flatMap(([, { content }]) => Object.entries(content ?? {})),
      ]
        .filter(([mediaType, { schema }]) => /json|form/.test(mediaType) && referenceOf(schema) === undefined)
        .map(() => nameOf(operation)),
    );
    expect(nameless).toEqual([]);
    expect(Object.keys(document.components.schemas).filter((name) => /\d\d\d/.test(name))).toEqual([]);
  });

  test('an error that many operations share is defined once, even with its own limit', () => {
    const responses = Object.values(document.paths).flatMap((item) =>
      Object.values(item).flatMap((operation) => Object.entries(operation.responses as object)),
    );
    const repeated = Map.groupBy(
      responses.filter(([status, response]) => Number(status) >= 400 && !('$ref' in response)),
      ([, response]) => JSON.stringify(response),
    );
    expect([...repeated].filter(([, { length }]) => length > 5)).toEqual([]);
    expect(responses.filter(([, response]) => '$ref' in response).length).toBeGreaterThan(500);
    expect(document.paths['/api/v1/posts']?.post?.responses).toMatchObject({
      413: { $ref: '#/components/responses/PayloadTooLarge128KiB' },
    });
    expect(document.components.responses?.PayloadTooLarge128KiB).toMatchObject({
      description: 'The JSON body is longer than 128 KiB.',
    });
  });

  test('an optional request body is not required', () => {
    const required = operations.filter(
      (operation) =>
        (operation.requestBody as { required?: boolean } | undefined)?.required === true &&
        routeOf(operation).body?.safeParse({}).success === true,
    );
    expect(required.map(nameOf)).toEqual([]);
    expect(
      operations.filter(({ requestBody }) => (requestBody as { required?: boolean })?.required === false)
        .length,
    ).toBeGreaterThan(5);
  });
});

describe('descriptions for people', () => {
  test('every operation, tag and response is described', () => {
    const bare = operations.filter(
      ({ summary, description }) => !summary || !description || description === summary,
    );
    expectByRecipe('endpoint', bare.map(nameOf));
    expect(document.tags.map(({ name }) => name)).toEqual(Object.keys(TAGS));
    for (const { description } of document.tags) expect(description).toMatch(/\.$/);
  });

  test('every parameter is described', () => {
    const bare = operations.flatMap((operation) =>
      ((operation.parameters as { name: string; description?: string }[] | undefined) ?? [])
        .filter(({ description }) => !description)
        .map(({ name }) => `${nameOf(operation)} ${name}`),
    );
    expectByRecipe('list-filter', bare);
  });

  test('every field is described, directly or by its component', () => {
    const bare = fieldsIn(document)
      .filter(({ field }) => !/\w{2}.* \w{2}/.test(descriptionOf(field)))
      .map(({ place }) => place);
    expectByRecipe('optional-field', bare);
    expect(fieldsIn(document).length).toBeGreaterThan(500);
  });

  test('amounts name their currency, durations and sizes their unit, and rates percent', () => {
    const UNITS: readonly [name: RegExp, unit: RegExp][] = [
      [/(?:^|_)(?:amount|price|balance|fee)$|^(?:plus|basic|pro)$/, /\bTooman\b/],
      [/_rial$/, /\bRial\b/],
      [/_days$/, /\bdays\b/],
      [/^(?:size|bytes)$|_bytes$/, /\bbytes\b/],
      [/_percent$/, /\bpercent\b/],
      [/^height$/, /\bcentimeters\b/],
      [/_(?:lat|lng)$/, /\bdegrees\b/],
    ];
    const mistakes = fieldsIn(document).flatMap(({ place, name, field }) =>
      UNITS.filter(
        ([names, unit]) => isNumber(field) && names.test(name) && !unit.test(descriptionOf(field)),
      ).map(([, unit]) => `${place}: ${unit.source}`),
    );
    expect(mistakes).toEqual([]);
  });

  test('every time in a response has the timestamp pattern, and its description has the format and zone', () => {
    const times = fieldsIn(document).filter(
      ({ name, place }) => /_(?:at|until)$/.test(name) && !place.includes('Request'),
    );
    const others = times.filter(({ field }) => field.pattern !== TIMESTAMP_PATTERN);
    const FORMATS: readonly RegExp[] = [/`HH:MM`/, /ISO 8601 in UTC/];
    expect(
      others
        .filter(({ field }) => !FORMATS.some((format) => format.test(descriptionOf(field))))
        .map(({ place }) => place),
    ).toEqual([]);
    for (const { field } of times.filter((time) => !others.includes(time)))
      expect(descriptionOf(field)).toMatch(/^(?!.*UTC.*UTC).{10,}\. `YYYY-MM-DD HH:MM:SS` in UTC\.$/s);
    expect(times.length - others.length).toBeGreaterThan(30);
  });

  test('every operation documents 429 with the time to try again', () => {
    for (const operation of operations) {
      const limited = responsesOf(operation).find(([status]) => status === '429');
      const headers = ['Retry-After', 'X-RateLimit-Limit', 'X-RateLimit-Remaining'];
      expect([nameOf(operation), Object.keys(limited?.[1].headers ?? {})]).toEqual([
        nameOf(operation),
        headers,
      ]);
    }
  });

  test('every header is described, and a 403 can name the missing scope', () => {
    const all = operations.flatMap((operation) =>
      responsesOf(operation).map(([status, { headers = {} }]) => ({
        name: `${nameOf(operation)} ${status}`,
        headers,
      })),
    );
    const bare = all.filter(({ headers }) => Object.values(headers).some(({ description }) => !description));
    expect(bare.map(({ name }) => name)).toEqual([]);
    const forbidden = all.filter(({ name }) => name.endsWith(' 403'));
    expect(forbidden.length).toBeGreaterThan(10);
    for (const { name, headers } of forbidden)
      expect([name, headers['WWW-Authenticate']?.description]).toEqual([
        name,
        expect.stringContaining('insufficient_scope'),
      ]);
  });

  test('exactly the operations that accept an Idempotency-Key have an example of it, for their samples', () => {
    const withExample = operations.filter(({ parameters = [] }) =>
      (parameters as unknown as { name: string; example?: string }[]).some(
        ({ name, example }) => name === 'idempotency-key' && example !== undefined,
      ),
    );
    const accepting = operations.filter((operation) => routeOf(operation).idempotent === true);
    expect(withExample.map(nameOf)).toEqual(accepting.map(nameOf));
    expect(accepting.length).toBeGreaterThan(4);
  });

  test("every error lists its operation's codes and causes, and its example has one of the codes", () => {
    const mistakes = operations.flatMap((operation) => {
      const codes = errorCodesOf(routeOf(operation) as never);
      return responsesOf(operation).flatMap(([status, response]) => {
        const documented = response['x-error-codes'] ?? [];
        const { code } = (response.content?.['application/json']?.example ?? {}) as { code?: string };
        const isRight =
          isDeepStrictEqual(documented, codes[status] ?? []) &&
          (code === undefined || documented.includes(code)) &&
          (routeOf(operation).errorCodes?.[Number(status)] ?? []).every((own) =>
            response.description.includes(`\`${own}\`: `),
          );
        return isRight ? [] : [`${nameOf(operation)} ${status}`];
      });
    });
    expect(mistakes).toEqual([]);
  });

  test('the introduction lists every error whose text is in `error`', () => {
    const others = operations.flatMap((operation) =>
      responsesOf(operation)
        .filter(([, { content }]) => {
          const name = referenceOf(content?.['application/json']?.schema ?? {}) ?? '';
          const { properties = {} } = (document.components.schemas[name] ?? {}) as { properties?: object };
          return 'error' in properties;
        })
        .map(([status]) => [nameOf(operation).replace('/api/v1', ''), status] as const),
    );
    const listed = [...document.info.description.matchAll(/^- `([^`]+)`: ([\d, ]+)$/gm)].flatMap(
      ([, operation = '', statuses = '']) =>
        statuses.split(', ').map((status) => [operation, status] as const),
    );
    expect(listed.toSorted()).toEqual(others.toSorted());
    expect(listed.length).toBeGreaterThan(5);
  });

  test('an operation names OAuth and the required scopes if its route is open to apps', () => {
    const { oauth } = document.components.securitySchemes as unknown as {
      oauth: { flows: { authorizationCode: { scopes: Record<string, string> } & Record<string, unknown> } };
    };
    const { scopes, ...flow } = oauth.flows.authorizationCode;
    expect(flow).toMatchObject({
      authorizationUrl: 'https://api.example.com/oauth/authorize',
      tokenUrl: 'https://api.example.com/oauth/token',
    });
    expect(Object.keys(scopes)).toEqual([...OAUTH_SCOPES]);
    for (const text of Object.values(scopes)) expect(text).toMatch(/^[A-Z][a-z].* /);

    const scopesOf = (operation: NamedOperation): string[][] =>
      (operation['x-oauth-scopes'] as string[][] | undefined) ?? [];
    const mistakes = operations.filter((operation) => {
      const route = routeOf(operation);
      const { permissions, alsoNeeds = [] } = route;
      const expected = !tokenKindsOf(route as never).includes('oauth')
        ? []
        : (permissions?.map((one) => [one]) ?? [[]])
            .map((one) => [...one, ...alsoNeeds])
            .filter((all) => all.every((scope) => scope in scopes));
      return !isDeepStrictEqual(scopesOf(operation), expected);
    });
    expect(mistakes.map(nameOf)).toEqual([]);
    const byId = new Map(operations.map((operation) => [operation.operationId, scopesOf(operation)]));
    expect(byId.get('getPayments')).toEqual([['payments.view_own'], ['payments.view_all']]);
    expect(byId.get('postAuthDeleteAccount')).toEqual([[]]);
    expect(byId.get('postPaymentsDeposit')).toEqual([]);
    expect(byId.get('getAuditLog')).toEqual([]);
  });

  test('the request of a redemption lists every store, because installations use different ones', () => {
    const { PostPaymentsStorePurchasesRequest: request } = document.components.schemas as Record<
      string,
      { properties?: { channel?: Schema } }
    >;
    expect(request?.properties?.channel?.enum).toEqual(CHANNEL_NAMES);
  });

  test('every link leads to an operation that accepts the id', () => {
    const byId = new Map(operations.map((operation) => [String(operation.operationId), operation]));
    for (const { operation, status, to } of LINKS) {
      for (const id of [operation, ...to]) expect([id, byId.has(id)]).toEqual([id, true]);
      const links = responsesOf(byId.get(operation) as NamedOperation).find(([code]) => code === status)?.[1]
        .links;
      expect(Object.keys(links ?? {}).toSorted()).toEqual(expect.arrayContaining(to.toSorted()));
    }
  });
});

describe('the wording of operations', () => {
  const LONGEST_SUMMARY = 50;
  /** Verbs that a summary may begin with. */
  const SUMMARY_VERBS: ReadonlySet<string> = new Set(
    (
      'Add Buy Cancel Change Claim Confirm Create Delete Disconnect Download List Mark Rate Redeem Register Reject Release Remove Report Request ' +
      'Reset Resolve Retrieve Return Revoke Schedule Set Sign Start Turn Unregister Update Upload'
    ).split(' '),
  );

  test('every API summary and description is free of the words and sentences that no text may have', () => {
    const faulty = operations.flatMap(({ operationId, summary, description }) =>
      [String(summary), String(description)]
        .filter(
          (text) =>
            Object.values(WORDS).some(({ fault }) => fault.test(text)) || longSentences(text).length > 0,
        )
        .map((text) => `${operationId}: ${text}`),
    );
    expect(operations.length).toBeGreaterThan(80);
    expect(faulty).toEqual([]);
  });

  test(`every API summary begins with a verb and has at most ${LONGEST_SUMMARY} characters without a period`, () => {
    const problemsOf = (summary: string): string[] => [
      ...(SUMMARY_VERBS.has(summary.split(' ')[0] ?? '')
        ? []
        : ['does not begin with a verb of SUMMARY_VERBS, which grows with the product']),
      ...(summary.length <= LONGEST_SUMMARY ? [] : ['is too long']),
      ...(summary.endsWith('.') ? ['ends with a period'] : []),
    ];
    const faulty = operations.flatMap(({ operationId, summary }) =>
      problemsOf(String(summary)).map((problem) => `${operationId}: "${summary}" ${problem}`),
    );
    expect(faulty).toEqual([]);
  });
});

describe('examples', () => {
  const ajv = new Ajv2020({ strict: false, allErrors: true });
  addFormats.default(ajv);
  for (const format of ['int32', 'int64', 'binary']) ajv.addFormat(format, true);

  /** Every body is a named component, so its schema is compiled once. */
  const problems = (schema: Schema, example: unknown): unknown => {
    if (ajv.getSchema('document') === undefined)
      ajv.addSchema({ $id: 'document', components: document.components });
    const check = ajv.getSchema(`document${schema.$ref}`);
    if (check === undefined) throw new Error(`there is no component ${schema.$ref}`);
    return check(example)
      ? undefined
      : check.errors?.map(({ instancePath, message }) => `${instancePath} ${message}`);
  };

  test('every request has an example that the service accepts', () => {
    const bodies = operations.flatMap((operation) => bodyOf(operation).map((body) => ({ operation, body })));
    expect(bodies.length).toBeGreaterThan(20);
    for (const {
      operation,
      body: [, { schema, example }],
    } of bodies) {
      const name = nameOf(operation);
      expectByRecipe('endpoint', [name, example], [name, expect.anything()]);
      expectByRecipe('endpoint', [name, problems(schema, example)], [name, undefined]);
      const { body } = routeOf(operation);
      expect([name, body?.safeParse(example).error]).toEqual([name, undefined]);
    }
  });

  test('every response has an example that the service may send', () => {
    let count = 0;
    for (const operation of operations) {
      for (const [status, { content }] of responsesOf(operation)) {
        const json = content?.['application/json'];
        if (json === undefined) continue;
        const name = `${nameOf(operation)} ${status}`;
        expectByRecipe('endpoint', [name, json.example], [name, expect.anything()]);
        expectByRecipe('optional-field', [name, problems(json.schema, json.example)], [name, undefined]);
        const declared = routeOf(operation).responses?.[status];
        if (declared) expect([name, declared.safeParse(json.example).error]).toEqual([name, undefined]);
        count += 1;
      }
    }
    expect(count).toBeGreaterThan(300);
  });

  test('the example of a scheduled deletion has the grace period of 14 days', () => {
    const operation = operations.find((each) => nameOf(each) === 'POST /api/v1/auth/delete-account');
    const [, scheduled] = responsesOf(operation as NamedOperation).find(([status]) => status === '202') ?? [];
    const example = scheduled?.content?.['application/json']?.example as Record<string, string>;
    const { deletion_requested_at: from, deletion_scheduled_at: to } = example;
    expect(Date.parse(`${to}Z`) - Date.parse(`${from}Z`)).toBe(14 * DAY_MS);
  });
});
