import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { Failure } from '../failure.mjs';
import { pause } from '../time.mjs';
import { findOrInstall } from './apt.mjs';
import { processServer } from './candidate.mjs';

/** A header for `/health/ready`. In a request it selects a gateway; in a response it names the gateway that sent it. */
const GATEWAY = 'x-gateway';

/**
 * Works like an ingress controller: each request goes to the next ready gateway, with the client's address in
 * X-Forwarded-For. If a gateway does not respond to a GET request at all, the request is sent to another one. Slow
 * requests are limited by the gateways themselves.
 * @param {number} port
 * @param {Map<string, number>} gateways name → port
 */
const configurationOf = (port, gateways) => `
global
  maxconn 8192
defaults
  mode http
  timeout connect 2s
  timeout http-request 60s
  timeout http-keep-alive 60s
  timeout client 310s
  timeout server 310s
  option forwardfor
  option redispatch 1
  retries 3
  retry-on conn-failure empty-response
frontend public
  bind 127.0.0.1:${port}
  default_backend gateways
backend gateways
  balance roundrobin
  http-request disable-l7-retry unless METH_GET
  http-request set-var(txn.asks_readiness) bool(true) if { path /health/ready }
  http-response set-header ${GATEWAY} %s if { var(txn.asks_readiness) -m bool }
  option httpchk
  http-check send meth GET uri /health/ready ver HTTP/1.1 hdr Host 127.0.0.1:${port}
  default-server check inter 500ms fall 1 rise 1
${[...gateways]
  .map(
    ([name, own]) => `
  use-server ${name} if { var(txn.asks_readiness) -m bool } { req.hdr(${GATEWAY}) -m str ${name} }
  server ${name} 127.0.0.1:${own}`,
  )
  .join('')}
`;

/**
 * HAProxy in front of several gateways.
 * @param {Pick<import('./candidate.mjs').Context, 'supervisor' | 'directory' | 'logDirectory' | 'log'>} context
 * @param {{ port: number, gateways: Map<string, number> }} where
 * @returns {Promise<{ untilReady: (gateway: string) => Promise<void> }>} untilReady: resolves when the balancer sends requests to this gateway
 */
export async function startBalancer(context, { port, gateways }) {
  const command = await findOrInstall(context, 'haproxy');
  if (!command)
    throw new Failure(
      'Several gateways need HAProxy in front, which is not on the PATH: install it (on Debian, as root: apt-get install haproxy).',
    );
  const directory = join(context.directory, 'balancer');
  mkdirSync(directory, { recursive: true });
  const file = join(directory, 'haproxy.cfg');
  writeFileSync(file, configurationOf(port, gateways));
  const url = `http://127.0.0.1:${port}`;
  const ask = async (headers = {}) => {
    try {
      return await fetch(`${url}/health/ready`, { headers, signal: AbortSignal.timeout(2_000) });
    } catch {
      return undefined;
    }
  };
  const launch = { name: 'balancer', command, args: ['-db', '-f', file], cwd: directory };
  // HAProxy itself returns 503 while it has no gateway.
  await processServer(context, url, launch, async () => (await ask()) !== undefined).start();
  return {
    async untilReady(gateway) {
      const deadline = Date.now() + 10_000;
      // Each request selects its gateway. With plain round robin, two waiting callers might each meet only the other's gateway.
      while ((await ask({ [GATEWAY]: gateway }))?.headers.get(GATEWAY) !== gateway) {
        if (Date.now() > deadline) throw new Error(`the balancer does not find that ${gateway} is ready`);
        await pause(50);
      }
    },
  };
}
