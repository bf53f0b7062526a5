/** Checks the host: another site must not read the sandbox through a name that resolves to this machine. */
import { hostProblem } from '@fitness/shared/http/request-syntax.ts';
import type { FastifyInstance } from 'fastify';

import { PROVIDERS } from './providers/index.ts';

/** Loopback addresses, and names that every system and browser resolves to one (RFC 6761). */
const LOOPBACK = /^(?:(?:.+\.)?localhost|127\.\d+\.\d+\.\d+|\[::1\])$/;

export const isLoopback = (name: string): boolean => LOOPBACK.test(name);

/** Lower case, without the port and a trailing dot. */
const nameIn = (host: string): string => host.toLowerCase().replace(/:\d*$/, '').replace(/\.$/, '');

/**
 * Serves loopback hosts, `more`, and the hosts of the original providers, which their clients send. Any other host is 421
 * (RFC 9110, 7.4).
 */
export function answerOnlyFor(app: FastifyInstance, more: readonly string[]): void {
  const allowed = new Set([...more, ...PROVIDERS.flatMap(({ originalHosts }) => originalHosts)]);
  app.addHook('onRequest', async (request, reply) => {
    if (hostProblem(request.raw) !== undefined) {
      return reply.code(400).send({ message: 'The request must have exactly one valid Host header.' });
    }
    const name = nameIn(request.headers.host ?? 'localhost');
    if (isLoopback(name) || allowed.has(name)) return undefined;
    return reply.code(421).send({
      message: `The sandbox does not answer for the host ${name}. SANDBOX_HOSTS can add it.`,
    });
  });
}
