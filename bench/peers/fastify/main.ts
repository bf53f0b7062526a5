/**
 * Peers of the gateway, using the packages in the folder `BENCH_PEERS`. `page` is a bare Fastify that serves one response (JSON). `proxy`
 * is `@fastify/http-proxy` in front of it, which checks a JWT and counts requests by address. The first message is the response, or the
 * origin of the page. The answer is the origin, and a token for the proxy.
 */
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import type { FastifyInstance, FastifyRequest } from 'fastify';
import { requirePeer } from '../../config.ts';

type Plugin = Parameters<FastifyInstance['register']>[0];
type Proxy = FastifyInstance & { jwt: { sign(claims: object): string } };

const app = requirePeer<(options: object) => FastifyInstance>('fastify')({ logger: false });
const role = process.argv[2];
const [argument] = await once(process, 'message');
/** A limit that is never reached: its cost is measured, not its refusals. */
const MANY = 1_000_000_000;

if (role === 'page') {
  app.get('/*', async (_request, reply) => reply.type('application/json; charset=utf-8').send(argument));
} else {
  await app.register(requirePeer<Plugin>('@fastify/jwt'), { secret: randomBytes(32).toString('hex') });
  await app.register(requirePeer<Plugin>('@fastify/rate-limit'), { max: MANY, timeWindow: 60_000 });
  const preHandler = async (request: FastifyRequest): Promise<void> => {
    await (request as FastifyRequest & { jwtVerify(): Promise<unknown> }).jwtVerify();
  };
  await app.register(requirePeer<Plugin>('@fastify/http-proxy'), { upstream: argument, preHandler });
}
const origin = await app.listen({ host: '127.0.0.1', port: 0 });
const claims = { sub: '1', permissions: ['posts.view'] };
process.send?.({ origin, token: role === 'page' ? '' : (app as Proxy).jwt.sign(claims) });
