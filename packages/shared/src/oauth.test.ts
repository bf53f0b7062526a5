import { describe, expect, test } from '@jest/globals';
import { en } from './i18n/catalogues/en.ts';
import { fa } from './i18n/catalogues/fa.ts';
import { isOauthResource, isOauthScope, OAUTH_SCOPES, READING_SCOPES } from './oauth.ts';
import { PERMISSIONS } from './permissions.ts';

describe('what can be lent to a third party', () => {
  test('is every permission but those by which accounts could be taken over', () => {
    const kept = PERMISSIONS.filter((permission) => !isOauthScope(permission));
    expect(kept).toEqual(['users.update_any', 'users.delete', 'roles.manage']);
    expect(OAUTH_SCOPES).toEqual(expect.arrayContaining([...READING_SCOPES]));
    expect(isOauthScope('openid')).toBe(false);
  });

  test('has its words for the page of consent in each language', () => {
    for (const catalogue of [en, fa] as Record<string, string>[]) {
      for (const scope of OAUTH_SCOPES)
        expect([scope, catalogue[`oauth.scope.${scope}`]]).toEqual([scope, expect.stringMatching(/\S/)]);
    }
  });
});

describe('a resource', () => {
  test.each([
    'https://fit.example',
    'https://fit.example/',
    'HTTPS://FIT.Example',
    'https://fit.example:443/mcp',
    'https://fit.example/mcp/',
    'https://fit.example/api/v1',
  ])('%s is ours', (resource) => expect(isOauthResource('https://fit.example', resource)).toBe(true));

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
  ])('%j is not', (resource) => expect(isOauthResource('https://fit.example', resource)).toBe(false));
});
