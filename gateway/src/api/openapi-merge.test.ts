import { describe, expect, test } from '@jest/globals';
import type { Service } from '../request/routes.ts';
import { mergeDocuments, type ServiceDocument } from './openapi-merge.ts';

const document = (path: string, schemas: Record<string, object> = {}, uses?: string): ServiceDocument =>
  ({
    paths: {
      [path]: {
        get: {
          tags: ['training-services'],
          responses: {
            200: {
              description: 'ok',
              content:
                uses === undefined
                  ? {}
                  : { 'application/json': { schema: { $ref: `#/components/schemas/${uses}` } } },
            },
          },
        },
      },
    },
    components: { schemas },
  }) as unknown as ServiceDocument;

const merge = (documents: Partial<Record<Service, ServiceDocument>>) =>
  mergeDocuments(new Map(Object.entries(documents) as [Service, ServiceDocument][]));

const usedBy = (merged: ReturnType<typeof merge>, path: string): string =>
  /"\$ref":"([^"]+)"/.exec(JSON.stringify(merged.paths[path]))?.[1] ?? '';

describe('mergeDocuments', () => {
  const error = { type: 'object', properties: { message: { type: 'string' } } };

  test('equal schemas with the same name are merged', () => {
    const merged = merge({
      identity: document('/api/v1/users', { Error: error }, 'Error'),
      gyms: document('/api/v1/gyms', { Error: { ...error } }, 'Error'),
    });
    expect(merged.components.schemas).toEqual({ Error: error });
    expect(usedBy(merged, '/api/v1/gyms')).toBe('#/components/schemas/Error');
  });

  test('different schemas with the same name, and references to them, get the service as a prefix', () => {
    const merged = merge({
      identity: document('/api/v1/users', { Media: { type: 'string' } }, 'Media'),
      'store-billing': document('/api/v1/payments/boost', { Media: { type: 'number' } }, 'Media'),
    });
    expect(merged.components.schemas).toEqual({
      IdentityMedia: { type: 'string' },
      StoreBillingMedia: { type: 'number' },
    });
    expect(usedBy(merged, '/api/v1/users')).toBe('#/components/schemas/IdentityMedia');
    expect(usedBy(merged, '/api/v1/payments/boost')).toBe('#/components/schemas/StoreBillingMedia');
  });

  test('equal schemas that refer to different ones get the prefix too, at any depth', () => {
    const user = { properties: { media: { $ref: '#/components/schemas/Media' } } };
    const list = { items: { $ref: '#/components/schemas/User' } };
    const merged = merge({
      identity: document('/api/v1/users', { List: list, User: user, Media: { type: 'string' } }, 'List'),
      content: document('/api/v1/posts', { List: list, User: user, Media: { type: 'number' } }, 'List'),
    });
    expect(Object.keys(merged.components.schemas)).toEqual([
      'ContentList',
      'ContentMedia',
      'ContentUser',
      'IdentityList',
      'IdentityMedia',
      'IdentityUser',
    ]);
    expect(merged.components.schemas.ContentList).toEqual({
      items: { $ref: '#/components/schemas/ContentUser' },
    });
    expect(merged.components.schemas.IdentityUser).toEqual({
      properties: { media: { $ref: '#/components/schemas/IdentityMedia' } },
    });
  });

  test('schemas that differ only in the order of their keys are merged', () => {
    const merged = merge({
      identity: document('/api/v1/users', { A: { type: 'string', maxLength: 1 } }, 'A'),
      gyms: document('/api/v1/gyms', { A: { maxLength: 1, type: 'string' } }, 'A'),
    });
    expect(Object.keys(merged.components.schemas)).toEqual(['A']);
  });

  test('an unreferenced schema is left out', () => {
    const schemas = { Used: { items: { $ref: '#/components/schemas/Deeper' } }, Deeper: {}, DeeperInput: {} };
    const merged = merge({ content: document('/api/v1/posts', schemas, 'Used') });
    expect(Object.keys(merged.components.schemas)).toEqual(['Deeper', 'Used']);
  });

  test('a recursive schema is supported', () => {
    const tree = { properties: { children: { items: { $ref: '#/components/schemas/Tree' } } } };
    const merged = merge({
      content: document('/api/v1/posts', { Tree: tree }, 'Tree'),
      gyms: document('/api/v1/gyms', { Tree: { ...tree, title: 'other' } }, 'Tree'),
    });
    expect(Object.keys(merged.components.schemas)).toEqual(['ContentTree', 'GymsTree']);
  });

  test('every operation has a unique id, and every response a description', () => {
    const operation = {
      responses: {
        201: { description: 'Default Response' },
        404: { description: 'Default Response' },
        409: { description: 'Taken.' },
      },
    };
    const merged = merge({
      gyms: {
        paths: { '/api/v1/gyms/{id}/working-periods': { put: { ...operation }, get: { ...operation } } },
      },
    } as unknown as Parameters<typeof merge>[0]);
    const item = merged.paths['/api/v1/gyms/{id}/working-periods'];
    expect([item?.put?.operationId, item?.get?.operationId]).toEqual([
      'putGymsByIdWorkingPeriods',
      'getGymsByIdWorkingPeriods',
    ]);
    expect(item?.put?.responses).toEqual({
      201: { description: 'Created' },
      404: { description: 'The resource does not exist, or is not visible to you.' },
      409: { description: 'Taken.' },
    });
  });

  test('a path that is routed to another service is left out', () => {
    const merged = merge({
      wallet: {
        paths: {
          '/api/v1/payments/{id}/pay': {},
          '/api/v1/payments/boost': {},
          '/internal/openapi.json': {},
        },
      },
    });
    expect(Object.keys(merged.paths)).toEqual(['/api/v1/payments/{id}/pay']);
  });

  test('tags are listed once, in one spelling', () => {
    const merged = merge({ content: document('/api/v1/posts'), gyms: document('/api/v1/gyms') });
    expect(merged.tags).toEqual([{ name: 'Training services' }]);
    expect(merged.paths['/api/v1/posts']?.get?.tags).toEqual(['Training services']);
  });

  test('the input documents are not modified', () => {
    const input = document('/api/v1/posts', { A: { $ref: '#/components/schemas/B' }, B: {} }, 'A');
    const before = structuredClone(input);
    merge({ content: input, gyms: document('/api/v1/gyms', { B: { type: 'null' } }) });
    expect(input).toEqual(before);
  });

  test('the server is the public origin, and the security schemes are a bearer token and OAuth', () => {
    const merged = merge({ content: document('/api/v1/posts') });
    expect(merged.openapi).toBe('3.1.0');
    expect(merged.servers).toEqual([{ url: 'https://api.example.com' }]);
    expect(merged.components.securitySchemes).toEqual({
      bearer: { type: 'http', scheme: 'bearer', description: expect.stringContaining('OAuth') },
      oauth: {
        type: 'oauth2',
        description: expect.stringContaining('PKCE'),
        flows: {
          authorizationCode: expect.objectContaining({
            authorizationUrl: 'https://api.example.com/oauth/authorize',
            tokenUrl: 'https://api.example.com/oauth/token',
          }),
        },
      },
    });
  });
});
