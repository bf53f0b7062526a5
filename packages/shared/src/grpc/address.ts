/** `host:port` as gRPC reads it: without brackets the last group of an IPv6 host would be taken for the port. */
export const grpcAddress = (host: string, port: number): string =>
  host.includes(':') ? `[${host}]:${port}` : `${host}:${port}`;

/** The host of a {@link grpcAddress}, with the brackets of an IPv6 host. */
export const hostOf = (address: string): string => address.slice(0, address.lastIndexOf(':'));
