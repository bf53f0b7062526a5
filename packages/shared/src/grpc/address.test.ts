import { expect, test } from '@jest/globals';
import { grpcAddress, hostOf } from './address.ts';

test.each([
  ['127.0.0.1', '127.0.0.1:9101', '127.0.0.1'],
  ['identity', 'identity:9101', 'identity'],
  ['::', '[::]:9101', '[::]'],
  ['::1', '[::1]:9101', '[::1]'],
])('the address of a server on host %s is %s', (host, address, written) => {
  expect(grpcAddress(host, 9101)).toBe(address);
  expect(hostOf(address)).toBe(written);
});
