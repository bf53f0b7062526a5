import { describe, expect, test } from '@jest/globals';
import { destinationOf, isRegistered, offeredMetadata, registrationError } from './oauth-client.ts';

const SCHEMES = ['cursor', 'vscode-insiders'];
const URI = 'https://client.example/callback';
const errorOf = (metadata: Record<string, unknown>) =>
  registrationError({ redirect_uris: [URI], ...metadata }, SCHEMES);

describe('the redirect URIs of a registration', () => {
  test.each([
    URI,
    'https://client.example:8443/?x=1',
    'https://localhost:7777/callback',
    'http://127.0.0.1/callback',
    'http://[::1]:7777/',
    'http://localhost:3000/x?y=1',
    'com.example.app:/callback',
    'ir.example://oauth/callback?x=1',
    'cursor://publisher.extension/callback',
    'vscode-insiders://publisher.extension/callback',
  ])('the redirect URI %s is accepted', (uri) => expect(errorOf({ redirect_uris: [uri] })).toBeUndefined());

  test.each<[string, unknown]>([
    ['plain http', 'http://client.example/callback'],
    ['a host that looks local', 'http://127.0.0.1.client.example/'],
    ['a javascript URI', 'javascript:alert(1)//https://x'],
    ['a data URI', 'data:text/html,x'],
    ['a fragment', 'https://client.example/#x'],
    ['user information', 'https://127.0.0.1@client.example/'],
    ['empty user information', 'https://@client.example/'],
    ['no slashes', 'https:client.example/'],
    ['backslashes', 'https:\\\\client.example/'],
    ['a line break', 'https://client.example/\r\nx: y'],
    ['a wildcard host', 'https://*/'],
    ['a wildcard subdomain', 'https://*.client.example/'],
    ['a directive of the content security policy', 'https://client.example;frame-ancestors/'],
    ['the end of the content security policy', 'https://client.example,x/'],
    ['a quoted host', "https://'unsafe-inline'/"],
    ['more than 2,000 characters', `https://client.example/${'a'.repeat(2_000)}`],
    ['a number', 1],
    ...[
      'x://y',
      'myapp:/callback',
      'file:///etc/passwd',
      'blob:https://client.example/x',
      'about:blank',
      'vbscript:x',
      'intent://x#Intent;scheme=https;end',
      'com.example.app:callback',
      'com.example.app:',
      'com.example.app:/callback#x',
      'com.example.app://user@host/callback',
      'com.example.app:\\callback',
      'com.example.app:/call back',
      'com.example_app:/callback',
      'com..example:/callback',
      '.com.example:/callback',
      'com.example.:/callback',
      'com.-example:/callback',
      'COM.example.app:/callback',
      'javascript.example;alert(1):/',
    ].map((uri): [string, string] => [uri, uri]),
  ])('a redirect URI with %s is refused', (_what, uri) =>
    expect(errorOf({ redirect_uris: [URI, uri] })).toContain('redirect_uris must be https'),
  );

  test('a registration has one to ten redirect URIs', () => {
    const uris = (count: number) => Array.from({ length: count }, (_, index) => `https://c.example/${index}`);
    expect([errorOf({ redirect_uris: uris(1) }), errorOf({ redirect_uris: uris(10) })]).toEqual([
      undefined,
      undefined,
    ]);
    for (const wrong of [[], uris(11), URI, undefined, null, {}])
      expect(errorOf({ redirect_uris: wrong })).toContain('1 to 10');
  });

  test('unknown schemes are omitted beside other URIs, but mistakes are not', () => {
    const accepted = ['cursor://a.b/callback', 'http://127.0.0.1/callback'];
    const unknown = ['myapp:/callback', 'file:///etc/passwd', 'javascript:/alert(1)'];
    const offered = (redirect_uris: unknown) => offeredMetadata({ redirect_uris }, SCHEMES).redirect_uris;
    expect(offered([...unknown, ...accepted])).toEqual(accepted);
    expect(offered(unknown)).toEqual(unknown);
    const mistaken = [...accepted, 'http://client.example/', 1];
    expect(offered(mistaken)).toEqual(mistaken);
  });

  test('the destination is the host or the private-use scheme', () => {
    expect(destinationOf('https://client.example:8443/callback')).toBe('client.example:8443');
    expect(destinationOf('com.example.app:/callback')).toBe('com.example.app:');
  });
});

describe('the other metadata of a registration', () => {
  test.each(['x', 'x'.repeat(100), 'مشتری\u200cمن'])('the name %j is accepted', (client_name) =>
    expect(errorOf({ client_name })).toBeUndefined(),
  );

  test.each<[unknown]>([
    ['x'.repeat(101)],
    [' '],
    ['a\ud83d'],
    ['Bank\u202egnp.exe'],
    ['two\nlines'],
    [{ en: 'x' }],
  ])('the name %j is refused', (client_name) => expect(errorOf({ client_name })).toContain('client_name'));

  test.each<[Record<string, unknown>, Record<string, unknown>]>([
    [{ grant_types: ['x', 'refresh_token', 'implicit'] }, { grant_types: ['refresh_token'] }],
    [{ grant_types: ['implicit'] }, { grant_types: ['implicit'] }],
    [{ response_types: ['code', 'code id_token'] }, { response_types: ['code'] }],
    [{ response_types: ['token'] }, { response_types: ['token'] }],
    [
      { grant_types: 'x', response_types: null },
      { grant_types: 'x', response_types: null },
    ],
    [{ token_endpoint_auth_method: 'client_secret_post' }, { token_endpoint_auth_method: 'none' }],
    [{ token_endpoint_auth_method: 1 }, { token_endpoint_auth_method: 1 }],
    [{}, {}],
  ])('of %j, %j is registered or refused', (wished, expected) =>
    expect(offeredMetadata(wished, SCHEMES)).toEqual(expected),
  );
});

describe('the redirect URI of a request', () => {
  const registered = ['http://127.0.0.1:7777/callback', 'https://localhost:7777/callback'];

  test('a request names a registered URI', () => {
    for (const uri of registered) expect(isRegistered(registered, uri)).toBe(true);
  });

  test.each([
    'http://127.0.0.1:7777/callback/',
    'http://127.0.0.1:9999/callback/',
    'http://127.0.0.1:9999/callback?x=1',
    'http://127.0.0.1:9999/callback#x',
    'http://127.0.0.1:77777/callback',
    'http://127.0.0.1:/callback',
    'http://127.0.0.1:7777/Callback',
    'http://127.0.0.1:7777/x/../callback',
    'HTTP://127.0.0.1:7777/callback',
    'http://a@127.0.0.1:9999/callback',
    'http://localhost:7777/callback',
    'http://LOCALHOST:7777/callback',
    'http://127.0.0.1:9999@evil.example/callback',
    'http://127.0.0.1:9999\\@evil.example/callback',
    'https://127.0.0.1:7777/callback',
    'https://localhost:9999/callback',
    'https://evil.example/callback',
    'javascript:alert(1)',
    '//evil.example/callback',
    '',
  ])('a request may not name %j instead', (uri) => expect(isRegistered(registered, uri)).toBe(false));

  test.each(['127.0.0.1', '[::1]', 'localhost'])(
    'a request may name any port of %s, even if none was registered',
    (host) => {
      for (const port of ['', ':7777'])
        for (const other of ['', ':9999'])
          expect(isRegistered([`http://${host}${port}/callback`], `http://${host}${other}/callback`)).toBe(
            true,
          );
    },
  );
});
