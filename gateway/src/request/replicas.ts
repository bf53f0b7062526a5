/**
 * Distributes requests over the replicas of the services. undici's DNS interceptor rotates over the addresses
 * that this module provides, from the configured list or from DNS. A request that could not be sent to one
 * replica is sent to another.
 */
import { promises as dns } from 'node:dns';
import { isIP } from 'node:net';
import type { Logger } from '@fitness/shared/kernel/log.ts';
import { type Agent, type Dispatcher, interceptors } from 'undici';
import { SERVICES, type Service } from './routes.ts';
import { sendElsewhere } from './send-elsewhere.ts';
import { createSilentReplicas } from './silent-replicas.ts';

/** Interval between DNS look-ups, and how long an address is skipped after a failed connection. */
const REFRESH_MS = 5_000;

interface Address {
  address: string;
  family: 4 | 6;
  port: number;
  origin: string;
}

export interface Replicas {
  /** One origin for all replicas of a service. Its host is the name in the service's certificates. */
  origins: Record<Service, string>;
  /**
   * Lets `agent` resolve these origins. Each agent rotates separately. With a shared rotation, two agents that
   * take turns would each always reach the same replica.
   */
  balance(agent: Agent): Dispatcher;
  close(): void;
}

interface ReplicasOptions {
  /** One origin with a name for each service, or several with IP addresses. */
  urls: Record<Service, readonly string[]>;
  /** Sends health calls to the replicas. */
  probe: Dispatcher;
  log: Logger;
  refreshMs?: number | undefined;
}

export const createReplicas = ({ urls, probe, log, refreshMs = REFRESH_MS }: ReplicasOptions): Replicas => {
  const addressesByService = new Map<string, readonly Address[]>();
  const refresh = async (service: Service): Promise<void> => {
    const addresses = await Promise.all(urls[service].map((url) => addressesOf(new URL(url))));
    addressesByService.set(service, addresses.flat());
    silent.update(service);
  };
  const storages: Map<string, unknown>[] = [];
  const silent = createSilentReplicas({
    originsOf: (service) => (addressesByService.get(service) ?? []).map(({ origin }) => origin),
    probe,
    log,
    leaveMs: refreshMs,
    // The next request of each agent looks the addresses up again.
    onChange: () => {
      for (const storage of storages) storage.clear();
    },
  });
  const named = SERVICES.filter((service) => urls[service].some((url) => !hasIp(new URL(url))));
  // If no name server responds, the last addresses stay in use.
  const refreshNamed = () => Promise.allSettled(named.map(refresh));
  const timer = setInterval(refreshNamed, refreshMs).unref();
  let turn = 0;
  const lookUp = async (service: Service): Promise<Address[]> => {
    if (!addressesByService.has(service)) await refresh(service);
    const all = addressesByService.get(service) ?? [];
    const usable = all.filter(({ origin }) => silent.mayServe(origin));
    const addresses = usable.length > 0 ? usable : all;
    // After each look-up, the interceptor begins with the first address.
    turn += 1;
    return addresses.map((_, index) => ({ ...(addresses[(index + turn) % addresses.length] as Address) }));
  };
  return {
    origins: Object.fromEntries(
      SERVICES.map((service) => [service, `${new URL(urls[service][0] ?? '').protocol}//${service}`]),
    ) as Record<Service, string>,
    balance: (agent) => {
      const storage = Object.assign(new Map<string, unknown>(), { full: () => false });
      storages.push(storage);
      agent.on('connectionError', silent.leave);
      return agent.compose(
        silent.watch,
        interceptors.dns({
          maxTTL: refreshMs,
          storage: storage as never,
          lookup: ({ hostname }, _options, callback) => {
            lookUp(hostname as Service).then(
              (addresses) => callback(null, addresses as never),
              (error) => callback(error, []),
            );
          },
        }),
        sendElsewhere,
      );
    },
    close: () => {
      clearInterval(timer);
      silent.close();
    },
  };
};

const withoutBrackets = ({ hostname }: URL): string => hostname.replace(/^\[|\]$/g, '');
const portOf = ({ port, protocol }: URL): number => Number(port || (protocol === 'https:' ? 443 : 80));
const hasIp = (url: URL): boolean => isIP(withoutBrackets(url)) !== 0;

const addressesOf = async (url: URL): Promise<Address[]> => {
  const port = portOf(url);
  const host = withoutBrackets(url);
  // The system's resolver knows the hosts file and the search domains of short names.
  const resolved = hasIp(url)
    ? [{ address: host, family: isIP(host) }]
    : await dns.lookup(host, { all: true });
  return resolved.map(({ address, family }) => {
    const { origin } = new URL(`${url.protocol}//${family === 6 ? `[${address}]` : address}:${port}`);
    return { address, family: family === 6 ? 6 : 4, port, origin };
  });
};
