import { isIPv6 } from 'node:net';

/** `host:port` as gRPC reads it. Without brackets, the last group of an IPv6 host would be read as the port. */
export const grpcAddress = (host: string, port: number): string =>
  host.includes(':') ? `[${host}]:${port}` : `${host}:${port}`;

/** The host of a {@link grpcAddress}, with the brackets of an IPv6 host. */
export const hostOf = (address: string): string => address.slice(0, address.lastIndexOf(':'));

/**
 * The target of a channel, for one address or the list of a configuration variable. A name is resolved again later, but the
 * addresses of a list never change.
 */
export const targetOf = (addresses: string): string => {
  if (!addresses.includes(',')) return addresses;
  const host = hostOf(addresses.slice(0, addresses.indexOf(','))).replace(/^\[|\]$/g, '');
  return `${isIPv6(host) ? 'ipv6' : 'ipv4'}:${addresses}`;
};
