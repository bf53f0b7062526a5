/** The program that signs in, as it describes itself. */
export interface Client {
  /** An IPv4 address, or the network of an IPv6 address. */
  address: string;
  /** The `User-Agent` header of the request. */
  userAgent: string | undefined;
}

const MAX_NAME_LENGTH = 200;

/** The printable ASCII characters of a `User-Agent` header; null when there are none. */
export const clientName = (userAgent: string | undefined): string | null => {
  const name = (userAgent ?? '')
    .replaceAll(/[^\x21-\x7e]+/g, ' ')
    .trim()
    .slice(0, MAX_NAME_LENGTH);
  return name === '' ? null : name;
};
