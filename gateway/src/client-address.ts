import type { IncomingMessage } from 'node:http';
import { isIP } from 'node:net';

const MAPPED_IPV4 = /^::ffff:(?=\d+\.\d+\.\d+\.\d+$)/i;

/**
 * The client's address: that of the socket, or, with `trustedProxies` of our own in front, what the outermost of them
 * wrote into `X-Forwarded-For`. Whatever stands further left came from the client and proves nothing.
 */
export const clientAddressOf = (request: IncomingMessage, trustedProxies: number): string => {
  const socketAddress = request.socket.remoteAddress ?? '';
  const forwarded = trustedProxies === 0 ? [] : (request.headersDistinct['x-forwarded-for'] ?? []);
  const hops = [...forwarded.flatMap((line) => line.split(',')), socketAddress];
  const candidate = hops[Math.max(0, hops.length - 1 - trustedProxies)]?.trim() ?? '';
  return (isIP(candidate) === 0 ? socketAddress : candidate).replace(MAPPED_IPV4, '');
};
