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
    ['the address of the socket without a proxy, regardless of the header', 0, ['6.6.6.6'], '10.0.0.1'],
    ['the entry that one proxy appended', 1, ['203.0.113.7'], '203.0.113.7'],
    [
      'the entry of one proxy, not those that the client has sent',
      1,
      ['6.6.6.6, 203.0.113.7'],
      '203.0.113.7',
    ],
    [
      'the entry that the outer of two proxies appended',
      2,
      ['6.6.6.6, 203.0.113.7, 10.0.0.2'],
      '203.0.113.7',
    ],
    [
      'an entry of two header lines, which are one list',
      2,
      ['6.6.6.6, 203.0.113.7', '10.0.0.2'],
      '203.0.113.7',
    ],
    ['the address of the socket if the proxy sends no header', 1, [], '10.0.0.1'],
    ['the address of the socket if the value is not an address', 1, ['unknown'], '10.0.0.1'],
    ['an IPv6 address', 1, ['2001:db8::7'], '2001:db8::7'],
    ['an IPv4 address without its port', 1, ['6.6.6.6, 203.0.113.7:4711'], '203.0.113.7'],
    ['an IPv6 address without its port', 1, ['[2001:db8::7]:4711'], '2001:db8::7'],
    ['an IPv6 address without its brackets', 1, ['[2001:db8::7]'], '2001:db8::7'],
    ['an IPv4-mapped address without its port', 1, ['[::ffff:203.0.113.7]:4711'], '203.0.113.7'],
    ['the address of the socket if the value is a name with a port', 1, ['proxy:4711'], '10.0.0.1'],
    ['the address of the socket if the brackets contain no address', 1, ['[203.0.113]:4711'], '10.0.0.1'],
  ])('the client address is %s', (_what, trustedProxies, forwardedFor, expected) => {
    expect(clientAddressOf(request('10.0.0.1', ...forwardedFor), trustedProxies)).toBe(expected);
  });

  test('an IPv4-mapped IPv6 address is returned as IPv4', () => {
    expect(clientAddressOf(request('::ffff:192.0.2.1'), 0)).toBe('192.0.2.1');
  });
});
