import { isIPv6 } from 'node:net';

const GROUPS = 8;
const NETWORK_GROUPS = 4;

const groupsOf = (text: string | undefined): string[] =>
  text === undefined || text === '' ? [] : text.split(':');

/**
 * The address, or the /64 network of an IPv6 address: a host chooses its addresses in its network freely, so that a limit of
 * an address would not limit it.
 */
export const networkOf = (address: string): string => {
  if (!isIPv6(address)) return address;
  const [before, after] = address.split('::');
  const [head, tail] = [groupsOf(before), groupsOf(after)];
  // An IPv4 address at the end is two groups; it is in the network only if nothing else is.
  const length = tail.length + (tail.at(-1)?.includes('.') === true ? 1 : 0);
  const zeros =
    after === undefined ? [] : Array<string>(Math.max(0, GROUPS - head.length - length)).fill('0');
  const network = [...head, ...zeros, ...tail].slice(0, NETWORK_GROUPS);
  return `${network.map((group) => Number.parseInt(group, 16).toString(16)).join(':')}::/64`;
};
