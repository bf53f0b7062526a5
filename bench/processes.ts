/** CPU time of the product's processes and servers. */
import { readdirSync, readFileSync, readlinkSync } from 'node:fs';
import { connectStack } from '../scripts/lib/stack-client.mjs';
import { cpuMs } from './figures.ts';

/** CPU milliseconds by process name. */
export type Cpu = Record<string, number>;

const LISTENING = '0A';

/** The process that listens on a local port; undefined for one in a container. */
const listenerOn = (port: number): number | undefined => {
  const rows = ['/proc/net/tcp', '/proc/net/tcp6'].flatMap((file) => readFileSync(file, 'utf8').split('\n'));
  const sockets = new Set<string>();
  for (const row of rows) {
    const [, local = '', , state, , , , , , inode] = row.trim().split(/\s+/);
    if (state === LISTENING && Number.parseInt(local.split(':')[1] ?? '', 16) === port)
      sockets.add(`socket:[${inode}]`);
  }
  const pids = readdirSync('/proc').map(Number).filter(Number.isInteger);
  return pids.find((pid) => {
    try {
      return readdirSync(`/proc/${pid}/fd`).some((fd) => sockets.has(readlinkSync(`/proc/${pid}/fd/${fd}`)));
    } catch {
      // The process has ended, or belongs to another user.
      return false;
    }
  });
};

const { servers, parts } = connectStack().describe();

/** Process ids of the gateway and the services by name. */
export const PRODUCT = Object.entries(parts).flatMap(([name, { pid }]): [string, number][] =>
  name === 'sandbox' ? [] : [[name, pid]],
);

const SERVERS = Object.entries({
  database: servers.MONGODB_URI,
  Redis: servers.REDIS_URL,
  RabbitMQ: servers.AMQP_URL,
}).flatMap(([name, uri]): [string, number][] => {
  const pid = listenerOn(Number(new URL(uri).port));
  return pid === undefined ? [] : [[name, pid]];
});

/** The peer's process, if its CPU time is measured. */
export const PEER = 'peer';

export const cpuByProcess = (peer?: number): Cpu => {
  const peers: [string, number][] = peer === undefined ? [] : [[PEER, peer]];
  return Object.fromEntries([...PRODUCT, ...SERVERS, ...peers].map(([name, pid]) => [name, cpuMs(pid)]));
};

/** CPU milliseconds for each of `count` units between two measurements. */
export const cpuPer = (count: number, before: Cpu, after: Cpu): Cpu =>
  Object.fromEntries(Object.entries(after).map(([name, ms]) => [name, (ms - (before[name] ?? 0)) / count]));

export const totalOf = (cpu: Cpu): number => Object.values(cpu).reduce((sum, ms) => sum + ms, 0);
