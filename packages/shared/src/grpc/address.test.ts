import { expect, test } from '@jest/globals';
import { grpcAddress, hostOf, targetOf } from './address.ts';

test.each([
  ['127.0.0.1', '127.0.0.1:9101', '127.0.0.1'],
  ['identity', 'identity:9101', 'identity'],
  ['::', '[::]:9101', '[::]'],
  ['::1', '[::1]:9101', '[::1]'],
])('the address of a server on host %s is %s', (host, address, written) => {
  expect(grpcAddress(host, 9101)).toBe(address);
  expect(hostOf(address)).toBe(written);
});

test.each([
  ['identity:9101', 'identity:9101'],
  ['127.0.0.1:9101', '127.0.0.1:9101'],
  ['127.0.0.1:9101,127.0.0.1:9111', 'ipv4:127.0.0.1:9101,127.0.0.1:9111'],
  ['[::1]:9101,[::1]:9111', 'ipv6:[::1]:9101,[::1]:9111'],
])('the target of a channel to %s is %s', (addresses, target) => {
  expect(targetOf(addresses)).toBe(target);
});
