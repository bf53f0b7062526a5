import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { Failure } from '../failure.mjs';
import { findExecutable } from '../paths.mjs';
import { pause } from '../time.mjs';
import { aptInstall, canInstall } from './apt.mjs';
import { processServer } from './candidate.mjs';

/** At `/health/ready`: asks for a gateway, which answers if the balancer finds it ready, and names the one that has answered. */
const GATEWAY = 'x-gateway';

/**
 * What an ingress controller does: each request goes to the next gateway that is ready, and the address of the client is in
 * X-Forwarded-For. A request that a gateway has not answered at all is sent to another one if it only reads. The gateways have
 * limits of their own for everything that takes long.
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

/** @param {Pick<import('./candidate.mjs').Context, 'supervisor' | 'logDirectory'>} context */
async function findBalancer({ supervisor, logDirectory }) {
  const installed = findExecutable('haproxy');
  if (installed || !canInstall()) return installed;
  await aptInstall(supervisor, ['haproxy'], logDirectory);
  return findExecutable('haproxy');
}

/**
 * HAProxy in front of several gateways.
 * @param {Pick<import('./candidate.mjs').Context, 'supervisor' | 'directory' | 'logDirectory'>} context
 * @param {{ port: number, gateways: Map<string, number> }} where
 * @returns {Promise<{ untilReady: (gateway: string) => Promise<void> }>} untilReady: resolves when it sends requests to this gateway
 */
export async function startBalancer(context, { port, gateways }) {
  const command = await findBalancer(context);
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
  // Without a gateway it answers 503 itself.
  await processServer(context, url, launch, async () => (await ask()) !== undefined).start();
  return {
    async untilReady(gateway) {
      const deadline = Date.now() + 10_000;
      // Two that wait at the same time and take what comes in turn may each meet the other's gateway for ever.
      while ((await ask({ [GATEWAY]: gateway }))?.headers.get(GATEWAY) !== gateway) {
        if (Date.now() > deadline) throw new Error(`the balancer does not find that ${gateway} is ready`);
        await pause(50);
      }
    },
  };
}
