/** CPU time and memory of the product's processes and servers. */
import { readdirSync, readFileSync, readlinkSync } from 'node:fs';
import { product } from './product.ts';

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

const { servers, parts } = product.describe();

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

/** CPU time of a process since its start. The kernel counts in hundredths of a second. */
const cpuMs = (pid: number): number => {
  // Skips the program name, which may contain spaces. proc(5) numbers the fields after it from 3.
  const fields = readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ').at(-1)?.split(' ') ?? [];
  return (Number(fields[11]) + Number(fields[12])) * 10;
};

export const cpuByProcess = (): Cpu =>
  Object.fromEntries([...PRODUCT, ...SERVERS].map(([name, pid]) => [name, cpuMs(pid)]));

export const totalOf = (cpu: Cpu): number => Object.values(cpu).reduce((sum, ms) => sum + ms, 0);

/** Resident memory of a process. */
export const residentMiB = (pid: number): number =>
  Number(/^VmRSS:\s+(\d+) kB$/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1]) / 1024;
