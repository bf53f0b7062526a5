import type { IncomingMessage } from 'node:http';
import { describe, expect, test } from '@jest/globals';
import { clientAddressOf } from './client-address.ts';

const request = (remoteAddress: string, ...forwardedFor: string[]): IncomingMessage =>
  ({
    socket: { remoteAddress },
    headersDistinct: { 'x-forwarded-for': forwardedFor },
  }) as unknown as IncomingMessage;

describe('clientAddressOf', () => {
  test.each([
    ['no proxy: the socket, regardless of the header', 0, ['6.6.6.6'], '10.0.0.1'],
    ['one proxy: the entry it appended', 1, ['203.0.113.7'], '203.0.113.7'],
    [
      'one proxy: entries of the client, further left, are ignored',
      1,
      ['6.6.6.6, 203.0.113.7'],
      '203.0.113.7',
    ],
    ['two proxies', 2, ['6.6.6.6, 203.0.113.7, 10.0.0.2'], '203.0.113.7'],
    ['two header lines are one list', 2, ['6.6.6.6, 203.0.113.7', '10.0.0.2'], '203.0.113.7'],
    ['a proxy that sends no header', 1, [], '10.0.0.1'],
    ['a value that is not an address', 1, ['unknown'], '10.0.0.1'],
    ['IPv6', 1, ['2001:db8::7'], '2001:db8::7'],
    ['IPv4 with a port', 1, ['6.6.6.6, 203.0.113.7:4711'], '203.0.113.7'],
    ['IPv6 with a port', 1, ['[2001:db8::7]:4711'], '2001:db8::7'],
    ['IPv6 in brackets', 1, ['[2001:db8::7]'], '2001:db8::7'],
    ['an IPv4-mapped address with a port', 1, ['[::ffff:203.0.113.7]:4711'], '203.0.113.7'],
    ['a name with a port', 1, ['proxy:4711'], '10.0.0.1'],
    ['no address in brackets', 1, ['[203.0.113]:4711'], '10.0.0.1'],
  ])('%s', (_what, trustedProxies, forwardedFor, expected) => {
    expect(clientAddressOf(request('10.0.0.1', ...forwardedFor), trustedProxies)).toBe(expected);
  });

  test('an IPv4-mapped IPv6 address is returned as IPv4', () => {
    expect(clientAddressOf(request('::ffff:192.0.2.1'), 0)).toBe('192.0.2.1');
  });
});
