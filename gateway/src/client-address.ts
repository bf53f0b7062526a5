import type { IncomingMessage } from 'node:http';
import { isIP } from 'node:net';

const MAPPED_IPV4 = /^::ffff:(?=\d+\.\d+\.\d+\.\d+$)/i;

/**
 * The address of the client: of the socket, or with `trustedProxies` in front the one that the outermost trusted proxy
 * appended to `X-Forwarded-For`. Entries further left come from the client and are not trusted.
 */
export const clientAddressOf = (request: IncomingMessage, trustedProxies: number): string => {
  const socketAddress = request.socket.remoteAddress ?? '';
  const forwarded = trustedProxies === 0 ? [] : (request.headersDistinct['x-forwarded-for'] ?? []);
  const hops = [...forwarded.flatMap((line) => line.split(',')), socketAddress];
  const candidate = hops[Math.max(0, hops.length - 1 - trustedProxies)]?.trim() ?? '';
  return (isIP(candidate) === 0 ? socketAddress : candidate).replace(MAPPED_IPV4, '');
};
