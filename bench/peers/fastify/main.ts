/**
 * Peers of the gateway, using the packages in the folder `BENCH_PEERS`. One is a bare Fastify that serves one response. The other is
 * `@fastify/http-proxy` in front of it, which checks a JWT and counts requests by address.
 *
 *   node main.ts page <file with the response>
 *   node main.ts proxy <origin of the page>
 *
 * It prints a JSON line with its origin, and the proxy also prints a token.
 */
import { randomBytes } from 'node:crypto';
import { readFileSync } from 'node:fs';
import type { FastifyInstance, FastifyRequest } from 'fastify';
import { requirePeer } from '../../config.ts';

type Plugin = Parameters<FastifyInstance['register']>[0];
type Proxy = FastifyInstance & { jwt: { sign(claims: object): string } };

const app = requirePeer<(options: object) => FastifyInstance>('fastify')({ logger: false });
const [role, argument = ''] = process.argv.slice(2);
/** A limit that is never reached: its cost is measured, not its refusals. */
const MANY = 1_000_000_000;

if (role === 'page') {
  const text = readFileSync(argument, 'utf8');
  const value: unknown = JSON.parse(text);
  app.get('/serialized', async () => value);
  app.get('/*', async (_request, reply) => reply.type('application/json; charset=utf-8').send(text));
} else {
  await app.register(requirePeer<Plugin>('@fastify/jwt'), { secret: randomBytes(32).toString('hex') });
  await app.register(requirePeer<Plugin>('@fastify/rate-limit'), { max: MANY, timeWindow: 60_000 });
  const preHandler = async (request: FastifyRequest): Promise<void> => {
    await (request as FastifyRequest & { jwtVerify(): Promise<unknown> }).jwtVerify();
  };
  await app.register(requirePeer<Plugin>('@fastify/http-proxy'), { upstream: argument, preHandler });
}
const address = await app.listen({ host: '127.0.0.1', port: 0 });
const token =
  role === 'page' ? undefined : (app as Proxy).jwt.sign({ sub: '1', permissions: ['posts.view'] });
process.stdout.write(`${JSON.stringify({ origin: address, token })}\n`);
