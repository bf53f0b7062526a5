import { beforeAll, describe, expect, test } from '@jest/globals';
import { API_VERSION, type ApiDocument } from '../../gateway/src/api/openapi-merge.ts';
import { breakingChanges } from './api-changes.ts';
import { loadApiDocument } from './api-document.ts';
import { exists, files, read } from './support.ts';

/** By their versions, the newest last. */
const RELEASES = files
  .filter((file) => /^docs\/api\/openapi-[\d.]+\.json$/.test(file))
  .sort((a, b) => a.localeCompare(b, 'en', { numeric: true }));

const deletion = (status: number): string =>
  `paths//api/v1/auth/delete-account/post/responses/${status}/content/application/json/schema/required`;

/**
 * The only exception. 1.0.0 had one schema for 200 and another for 202, and generated clients decode both by the first: the Kotlin client
 * threw after the deletion was scheduled and every token revoked. Now both have one schema, in which only `message` is required. The
 * bodies are the same.
 */
const DECLARED: Readonly<Record<string, readonly string[]>> = {
  '1.0.0': [`${deletion(200)}/1`, `${deletion(202)}/1`, `${deletion(202)}/2`],
};

let document: ApiDocument;
beforeAll(async () => {
  document = await loadApiDocument();
});

const majorOf = (version: string): number => Number.parseInt(version, 10);

/** A client may have been generated from any of them. */
const releasesOfThisMajor = (): ApiDocument[] =>
  RELEASES.map((file): ApiDocument => JSON.parse(read(file))).filter(
    ({ info }) => majorOf(info.version) === majorOf(API_VERSION),
  );

test('a release has its document, and its entry in CHANGELOG.md', () => {
  expect(exists(`docs/api/openapi-${API_VERSION}.json`)).toBe(true);
  expect(read('CHANGELOG.md')).toContain(`## [${API_VERSION}]`);
  expect(JSON.parse(read('package.json')).version).toBe(API_VERSION);
});

test('clients of every kept release of this major version work with this document', () => {
  const releases = releasesOfThisMajor();
  expect(releases.map(({ info }) => info.version)).toContain(API_VERSION);
  for (const release of releases) {
    const { version } = release.info;
    expect([version, breakingChanges(release, document)]).toEqual([version, DECLARED[version] ?? []]);
  }
});

describe('a breaking change is', () => {
  // biome-ignore lint/suspicious/noExplicitAny: a change may be anywhere in the document
  type Change = (changed: any) => void;
  const CASES: [string, Change, RegExp][] = [
    ['a removed path', ({ paths }) => delete paths['/api/v1/gyms'], /^paths\/\/api\/v1\/gyms\/get$/m],
    [
      'a removed operation',
      ({ paths }) => delete paths['/api/v1/gyms'].post,
      /^paths\/\/api\/v1\/gyms\/post$/m,
    ],
    [
      'a removed parameter',
      ({ paths }) => paths['/api/v1/posts'].get.parameters.shift(),
      /posts\/get\/parameters\/0/,
    ],
    [
      'another operation id',
      ({ paths }) => {
        paths['/api/v1/posts'].get.operationId = 'listPosts';
      },
      /posts\/get\/operationId/,
    ],
    [
      'a removed response',
      ({ paths }) => delete paths['/api/v1/payments/store-purchases'].post.responses['200'],
      /store-purchases\/post\/responses\/200$/m,
    ],
    [
      'a removed field of an answer',
      ({ components }) => delete components.schemas.User.properties.username,
      /auth\/me\/get\/.*user\/properties\/username$/m,
    ],
    [
      'a field that an answer may lack',
      ({ components }) => components.schemas.Post.required.shift(),
      /posts\/get\/responses\/200\/.*\/required\/0$/m,
    ],
    [
      'another type of a field',
      ({ components }) => {
        components.schemas.Payment.properties.amount = { type: 'string' };
      },
      /properties\/amount\/type$/m,
    ],
    [
      'null where there was none',
      ({ components }) => {
        components.schemas.Gym.properties.rating_count = { type: ['integer', 'null'] };
      },
      /rating_count\/type/,
    ],
    [
      'a new value of an enumerated field of an answer',
      ({ components }) => components.schemas.Trainee.properties.status.enum.push('paused'),
      /responses\/200\/.*\/status\/enum\/2$/m,
    ],
    [
      'an error of many operations that has another body',
      ({ components }) => {
        components.responses.Unauthorized.content = { 'text/plain': { schema: { type: 'string' } } };
      },
      /posts\/get\/responses\/401\/content\/application\/json/m,
    ],
    [
      'an error of many operations that lacks a header',
      ({ components }) => delete components.responses.TooManyRequests.headers['Retry-After'],
      /posts\/get\/responses\/429\/headers\/Retry-After$/m,
    ],
    [
      'a value that a request may not have any more',
      ({ components }) => components.schemas.PostPaymentsBoostRequest.properties.level.enum.pop(),
      /boost\/post\/requestBody\/.*\/level\/enum\/1$/m,
    ],
    [
      'a field that a request must have now',
      ({ components }) => components.schemas.PostGymsRequest.required.push('description'),
      /gyms\/post\/requestBody\/.*\/required\/4$/m,
    ],
    [
      'a body that is required now',
      ({ paths }) => {
        paths['/api/v1/auth/me'].put.requestBody.required = true;
      },
      /auth\/me\/put\/requestBody\/required$/m,
    ],
  ];

  test.each(CASES)('%s', (_name, change, expected) => {
    const changed = structuredClone(document);
    change(changed);
    expect(breakingChanges(document, changed).join('\n')).toMatch(expected);
  });

  test('not an addition', () => {
    const changed = structuredClone(document);
    // biome-ignore lint/suspicious/noExplicitAny: as above
    const { paths, components } = changed as any;
    paths['/api/v1/things'] = structuredClone(paths['/api/v1/posts']);
    components.schemas.User.properties.nickname = { type: 'string' };
    // A field that every answer has, as those of our resources are.
    components.schemas.Gym.properties.nickname = { type: 'string' };
    components.schemas.Gym.required.push('nickname');
    components.schemas.Gym.properties.description.type = 'string';
    components.schemas.PostGymsRequest.properties.nickname = { type: 'string' };
    components.schemas.PostPaymentsBoostRequest.properties.level.enum.push('ultra');
    components.schemas.PostGymsRequest.required = [];
    paths['/api/v1/posts'].get.description = 'Posts.';
    paths['/api/v1/posts'].get.responses['401'] = structuredClone(components.responses.Unauthorized);
    components.responses.UnprocessableEntity.content['application/json'].example.errors = { type: ['No.'] };
    expect(breakingChanges(document, changed)).toEqual([]);
  });
});
