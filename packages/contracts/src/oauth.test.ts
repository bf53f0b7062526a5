import { CATALOGUES } from '@fitness/shared/kernel/i18n/catalogue.ts';
import { PERMISSIONS } from '@fitness/shared/kernel/permissions.ts';
import { describe, expect, test } from '@jest/globals';
import { findOauthResource, isAudience, isOauthScope, OAUTH_SCOPES, READING_SCOPES } from './oauth.ts';

describe('the OAuth scopes', () => {
  test('every permission is an OAuth scope, except those over accounts, the audit log and operations', () => {
    const excluded = PERMISSIONS.filter((permission) => !isOauthScope(permission));
    expect(excluded).toEqual([
      'users.update_any',
      'users.delete',
      'roles.manage',
      'audit.view',
      'operations.manage',
    ]);
    expect(OAUTH_SCOPES).toEqual(expect.arrayContaining([...READING_SCOPES]));
    expect(isOauthScope('openid')).toBe(false);
  });

  test('every scope has a text for the consent page in each language', () => {
    for (const catalogue of CATALOGUES.values() as Iterable<Record<string, string>>) {
      for (const scope of OAUTH_SCOPES)
        expect([scope, catalogue[`oauth.scope.${scope}`]]).toEqual([scope, expect.stringMatching(/\S/)]);
    }
  });
});

describe('a resource indicator', () => {
  test.each([
    ['https://fit.example', ''],
    ['https://fit.example/', ''],
    ['HTTPS://FIT.Example', ''],
    ['https://fit.example:443/mcp', '/mcp'],
    ['https://fit.example/mcp/', '/mcp'],
    ['https://fit.example/api/v1', '/api/v1'],
  ])('the indicator %s names our resource %j', (named, path) =>
    expect(findOauthResource('https://fit.example', named)).toBe(`https://fit.example${path}`),
  );

  test.each([
    'http://fit.example/mcp',
    'https://fit.example:8443/mcp',
    'https://fit.example/MCP',
    'https://fit.example/mcp?x',
    'https://fit.example/mcp#x',
    'https://fit.example.evil.example/mcp',
    'https://user@fit.example/mcp',
    'https://evil.example',
    'fit.example',
    '',
  ])('the indicator %j names no resource of ours', (named) =>
    expect(findOauthResource('https://fit.example', named)).toBeUndefined(),
  );
});

describe('a token', () => {
  test.each<[string | undefined, string, boolean]>([
    [undefined, '/mcp', true],
    [undefined, '/api/v1', true],
    ['https://fit.example', '/mcp', true],
    ['https://fit.example', '/api/v1', true],
    ['https://fit.example/mcp', '/mcp', true],
    ['https://fit.example/mcp', '/api/v1', false],
    ['https://fit.example/api/v1', '/api/v1', true],
    ['https://fit.example/api/v1', '/mcp', false],
    ['https://other.example', '/mcp', false],
  ])('a token for the audience %s at %s has the validity %j', (audience, path, expected) =>
    expect(isAudience('https://fit.example', audience, path)).toBe(expected),
  );
});
