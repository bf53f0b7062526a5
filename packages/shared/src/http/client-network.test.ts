import { expect, test } from '@jest/globals';
import { networkOf, siteOf } from './client-network.ts';

test.each([
  ['192.0.2.1', '192.0.2.1'],
  ['2001:db8:1:2:3:4:5:6', '2001:db8:1:2::/64'],
  ['2001:DB8:0001:2::', '2001:db8:1:2::/64'],
  ['2001:db8::1', '2001:db8:0:0::/64'],
  ['2001:db8:1:2:ffff:ffff:ffff:ffff', '2001:db8:1:2::/64'],
  ['2001::1:2:3:4:5:6', '2001:0:1:2::/64'],
  ['::1', '0:0:0:0::/64'],
  ['64:ff9b::192.0.2.1', '64:ff9b:0:0::/64'],
  ['1:2:3:4:5:6:192.0.2.1', '1:2:3:4::/64'],
  ['', ''],
  ['no address', 'no address'],
])('limits count the address %s as %s', (address, network) => {
  expect(networkOf(address)).toBe(network);
});

test.each([
  ['2001:db8:1:2::7', '2001:db8:1:0::/56'],
  ['2001:db8:1:ff::', '2001:db8:1:0::/56'],
  ['2001:db8:1:1ff::', '2001:db8:1:100::/56'],
  ['2001:db8::1', '2001:db8:0:0::/56'],
  ['192.0.2.1', '192.0.2.1'],
])('a fair queue counts the network %s as %s', (address, site) => {
  expect(siteOf(networkOf(address))).toBe(site);
});
