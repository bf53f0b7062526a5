import type { IncomingMessage } from 'node:http';
import { isIP } from 'node:net';

const MAPPED_IPV4 = /^::ffff:(?=\d+\.\d+\.\d+\.\d+$)/i;

/** Some proxies append the port. */
const WITH_PORT = /^(?:\[([^\]]+)\]|(\d+\.\d+\.\d+\.\d+))(?::\d+)?$/;

/**
 * The address of the client: the socket's address without proxies, otherwise the address that the outermost trusted proxy
 * appended to `X-Forwarded-For`. Entries further left come from the client and are not trusted.
 */
export const clientAddressOf = (request: IncomingMessage, trustedProxies: number): string => {
  const socketAddress = request.socket.remoteAddress ?? '';
  if (trustedProxies === 0) return socketAddress.replace(MAPPED_IPV4, '');
  const forwarded = request.headersDistinct['x-forwarded-for'] ?? [];
  const hops = [...forwarded.flatMap((line) => line.split(',')), socketAddress];
  const hop = hops[Math.max(0, hops.length - 1 - trustedProxies)]?.trim() ?? '';
  const [, v6, v4] = WITH_PORT.exec(hop) ?? [];
  const candidate = v6 ?? v4 ?? hop;
  return (isIP(candidate) === 0 ? socketAddress : candidate).replace(MAPPED_IPV4, '');
};
