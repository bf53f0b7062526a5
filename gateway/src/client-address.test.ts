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
    ['no proxy: the socket, whatever is claimed', 0, ['6.6.6.6'], '10.0.0.1'],
    ['one proxy: what it saw', 1, ['203.0.113.7'], '203.0.113.7'],
    ['one proxy: what the client claims stands further left', 1, ['6.6.6.6, 203.0.113.7'], '203.0.113.7'],
    ['two proxies', 2, ['6.6.6.6, 203.0.113.7, 10.0.0.2'], '203.0.113.7'],
    ['two lines are one list', 2, ['6.6.6.6, 203.0.113.7', '10.0.0.2'], '203.0.113.7'],
    ['a proxy that says nothing', 1, [], '10.0.0.1'],
    ['something that is no address', 1, ['unknown'], '10.0.0.1'],
    ['IPv6', 1, ['2001:db8::7'], '2001:db8::7'],
  ])('%s', (_what, trustedProxies, forwardedFor, expected) => {
    expect(clientAddressOf(request('10.0.0.1', ...forwardedFor), trustedProxies)).toBe(expected);
  });

  test('an IPv4 address in IPv6 clothes is the IPv4 address', () => {
    expect(clientAddressOf(request('::ffff:192.0.2.1'), 0)).toBe('192.0.2.1');
  });
});
