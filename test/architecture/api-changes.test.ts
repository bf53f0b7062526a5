import { beforeAll, describe, expect, test } from '@jest/globals';
import { KNOWN_VALUES } from '../../gateway/src/api/client-schemas.ts';
import { API_VERSION, type ApiDocument } from '../../gateway/src/api/openapi-merge.ts';
import { loadApiDocument } from '../../scripts/lib/api-document.mjs';
import { breakingChanges } from './api-changes.ts';
import { exists, files, read } from './support.ts';

/** The released documents by version, newest last. */
const RELEASES = files
  .filter((file) => /^docs\/api\/openapi-[\d.]+\.json$/.test(file))
  .sort((a, b) => a.localeCompare(b, 'en', { numeric: true }));

const deletion = (status: number): string =>
  `paths//api/v1/auth/delete-account/post/responses/${status}/content/application/json/schema/required`;

/**
 * The first of two exceptions. 1.0.0 had one schema for 200 and another for 202, and generated clients decoded both with the first. The Kotlin
 * client threw after the deletion was scheduled and every token revoked. Now both responses share one schema that requires only
 * `message`. The bodies are unchanged.
 */
const DECLARED: Readonly<Record<string, readonly string[]>> = {
  '1.0.0': [`${deletion(200)}/1`, `${deletion(202)}/1`, `${deletion(202)}/2`],
};

let document: ApiDocument;
beforeAll(async () => {
  document = await loadApiDocument();
});

/**
 * The second exception. 1.0.0 enumerated the values of fields in responses that are open text now (docs/adr/0077). Its generated
 * clients refuse every value that was added since, so their developers have to generate them again.
 */
const withOpenText = (release: ApiDocument): ApiDocument => {
  const opened = structuredClone(release);
  // biome-ignore lint/suspicious/noExplicitAny: a component may lack properties
  const [now, before] = [document.components.schemas as any, opened.components.schemas as any];
  for (const [name, component] of Object.entries<Record<string, object>>(before))
    for (const field of Object.keys(component.properties ?? {}))
      if (now[name]?.properties[field]?.[KNOWN_VALUES] !== undefined)
        before[name].properties[field] = now[name].properties[field];
  return opened;
};

const majorOf = (version: string): number => Number.parseInt(version, 10);

/** Releases that clients of this major version may have been generated from. */
const releasesOfThisMajor = (): ApiDocument[] =>
  RELEASES.map((file): ApiDocument => JSON.parse(read(file))).filter(
    ({ info }) => majorOf(info.version) === majorOf(API_VERSION),
  );

test('every release has a document and an entry in CHANGELOG.md', () => {
  expect(exists(`docs/api/openapi-${API_VERSION}.json`)).toBe(true);
  expect(read('CHANGELOG.md')).toContain(`## [${API_VERSION}]`);
  expect(JSON.parse(read('package.json')).version).toBe(API_VERSION);
});

test('the gateway serves the routes of this commit', () => {
  const served = JSON.parse(read(`docs/api/openapi-${API_VERSION}.json`));
  expect(served).toEqual(JSON.parse(JSON.stringify(document)));
});

test('clients of every documented release of this major version work with the current document', () => {
  const releases = releasesOfThisMajor();
  expect(releases.map(({ info }) => info.version)).toContain(API_VERSION);
  for (const release of releases) {
    const { version } = release.info;
    const before = version === '1.0.0' ? withOpenText(release) : release;
    expect([version, breakingChanges(before, document)]).toEqual([version, DECLARED[version] ?? []]);
  }
});

/** Comparing the whole document takes seconds. This part has only these paths, and the components that they use. */
const partOf = ({ paths, components, ...rest }: ApiDocument, ...kept: string[]): ApiDocument => {
  const used: Record<string, Record<string, unknown>> = { securitySchemes: components.securitySchemes };
  const use = (value: unknown): void => {
    for (const [, kind = '', name = ''] of JSON.stringify(value).matchAll(/"#\/components\/(\w+)\/(\w+)"/g)) {
      const ofKind = used[kind] ?? {};
      used[kind] = ofKind;
      if (name in ofKind) continue;
      ofKind[name] = (components as Record<string, Record<string, unknown>>)[kind]?.[name];
      use(ofKind[name]);
    }
  };
  const own = Object.fromEntries(kept.map((path) => [`/api/v1${path}`, paths[`/api/v1${path}`]]));
  use(own);
  return { ...rest, paths: own, components: used } as unknown as ApiDocument;
};

describe('breaking changes', () => {
  // biome-ignore lint/suspicious/noExplicitAny: a change may be anywhere in the document
  type Change = (changed: any) => void;
  const CASES: [title: string, path: string, Change, RegExp][] = [
    [
      'a removed path',
      '/gyms',
      ({ paths }) => delete paths['/api/v1/gyms'],
      /^paths\/\/api\/v1\/gyms\/get$/m,
    ],
    [
      'a removed operation',
      '/gyms',
      ({ paths }) => delete paths['/api/v1/gyms'].post,
      /^paths\/\/api\/v1\/gyms\/post$/m,
    ],
    [
      'a removed parameter',
      '/posts',
      ({ paths }) => paths['/api/v1/posts'].get.parameters.shift(),
      /posts\/get\/parameters\/0/,
    ],
    [
      'a changed operation id',
      '/posts',
      ({ paths }) => {
        paths['/api/v1/posts'].get.operationId = 'listPosts';
      },
      /posts\/get\/operationId/,
    ],
    [
      'a removed response',
      '/payments/store-purchases',
      ({ paths }) => delete paths['/api/v1/payments/store-purchases'].post.responses['200'],
      /store-purchases\/post\/responses\/200$/m,
    ],
    [
      'a field removed from a response',
      '/auth/me',
      ({ components }) => delete components.schemas.User.properties.username,
      /auth\/me\/get\/.*user\/properties\/username$/m,
    ],
    [
      'a response field that becomes optional',
      '/posts',
      ({ components }) => components.schemas.Post.required.shift(),
      /posts\/get\/responses\/200\/.*\/required\/0$/m,
    ],
    [
      'a changed field type',
      '/payments',
      ({ components }) => {
        components.schemas.Payment.properties.amount = { type: 'string' };
      },
      /properties\/amount\/type$/m,
    ],
    [
      'a field that becomes nullable',
      '/gyms',
      ({ components }) => {
        components.schemas.Gym.properties.rating_count = { type: ['integer', 'null'] };
      },
      /rating_count\/type/,
    ],
    [
      'a response field with a constant that changes',
      '/auth/login',
      ({ components }) => {
        components.schemas.SignedIn.properties.token_type.const = 'DPoP';
      },
      /login\/post\/responses\/200\/.*\/token_type\/const$/m,
    ],
    [
      'a changed body of a shared error',
      '/posts',
      ({ components }) => {
        components.responses.Unauthorized.content = { 'text/plain': { schema: { type: 'string' } } };
      },
      /posts\/get\/responses\/401\/content\/application\/json/m,
    ],
    [
      'a header removed from a shared error',
      '/posts',
      ({ components }) => delete components.responses.TooManyRequests.headers['Retry-After'],
      /posts\/get\/responses\/429\/headers\/Retry-After$/m,
    ],
    [
      'a value removed from a request field',
      '/payments/boost',
      ({ components }) => components.schemas.PostPaymentsBoostRequest.properties.level.enum.pop(),
      /boost\/post\/requestBody\/.*\/level\/enum\/1$/m,
    ],
    [
      'a value with a backslash removed from a request field',
      '/posts',
      ({ components }) => {
        const { profile_type } = components.schemas.PostPostsRequest.properties;
        profile_type.pattern = profile_type.pattern.replace('App\\\\Models\\\\User|', '');
      },
      /posts\/post\/requestBody\/.*\/profile_type\/pattern$/m,
    ],
    [
      'a new required request field',
      '/gyms',
      ({ components }) => components.schemas.PostGymsRequest.required.push('description'),
      /gyms\/post\/requestBody\/.*\/required\/4$/m,
    ],
    [
      'a request body that becomes required',
      '/auth/me',
      ({ paths }) => {
        paths['/api/v1/auth/me'].put.requestBody.required = true;
      },
      /auth\/me\/put\/requestBody\/required$/m,
    ],
  ];

  test.each(CASES)('%s is a breaking change', (_title, path, change, expected) => {
    const part = partOf(document, path);
    const changed = structuredClone(part);
    change(changed);
    expect(breakingChanges(part, changed).join('\n')).toMatch(expected);
  });

  test('an addition is not a breaking change', () => {
    const part = partOf(document, '/posts', '/gyms', '/auth/me', '/payments/boost', '/trainees');
    const changed = structuredClone(part);
    // biome-ignore lint/suspicious/noExplicitAny: see above
    const { paths, components } = changed as any;
    paths['/api/v1/things'] = structuredClone(paths['/api/v1/posts']);
    components.schemas.User.properties.nickname = { type: 'string' };
    // This field is required in every response, like all fields of our resources.
    components.schemas.Gym.properties.nickname = { type: 'string' };
    components.schemas.Gym.required.push('nickname');
    components.schemas.Gym.properties.description.type = 'string';
    components.schemas.Trainee.properties.status[KNOWN_VALUES].push('paused');
    components.schemas.PostGymsRequest.properties.nickname = { type: 'string' };
    components.schemas.PostPaymentsBoostRequest.properties.level.enum.push('ultra');
    const { profile_type } = components.schemas.PostPostsRequest.properties;
    profile_type.pattern = profile_type.pattern.replace('^(?:', '^(?:x|');
    components.schemas.PostGymsRequest.required = [];
    paths['/api/v1/posts'].get.description = 'Posts.';
    paths['/api/v1/posts'].get.responses['401'] = structuredClone(components.responses.Unauthorized);
    components.responses.UnprocessableEntity.content['application/json'].example.errors = { type: ['No.'] };
    expect(breakingChanges(part, changed)).toEqual([]);
  });
});
