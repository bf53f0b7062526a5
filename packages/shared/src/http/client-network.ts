/** The networks by which limits and queues distinguish clients. */
import { isIPv6 } from 'node:net';

/** What `networkOf` returns for an IPv6 address. */
const IPV6_NETWORK = /^([\da-f:]+):([\da-f]+)::\/64$/;

/**
 * The /56 prefix of a /64 network, the usual size of a home connection; an IPv4 address as it is. Only for fair queues:
 * limits count /64 networks, because the networks of one /56 may belong to several customers of a data center.
 */
export const siteOf = (network: string): string => {
  const [, head, last] = IPV6_NETWORK.exec(network) ?? [];
  if (head === undefined || last === undefined) return network;
  return `${head}:${(Number.parseInt(last, 16) & 0xff00).toString(16)}::/56`;
};

const GROUPS = 8;
const NETWORK_GROUPS = 4;

const groupsOf = (text: string | undefined): string[] =>
  text === undefined || text === '' ? [] : text.split(':');

/**
 * The address, or the /64 network of an IPv6 address. A host can use any address of its network, and a limit per address would
 * not limit it.
 */
export const networkOf = (address: string): string => {
  if (!isIPv6(address)) return address;
  const [before, after] = address.split('::');
  const [head, tail] = [groupsOf(before), groupsOf(after)];
  // An IPv4 address at the end replaces the last two groups, which are outside the network.
  const length = tail.length + (tail.at(-1)?.includes('.') === true ? 1 : 0);
  const zeros =
    after === undefined ? [] : Array<string>(Math.max(0, GROUPS - head.length - length)).fill('0');
  const network = [...head, ...zeros, ...tail].slice(0, NETWORK_GROUPS);
  return `${network.map((group) => Number.parseInt(group, 16).toString(16)).join(':')}::/64`;
};
