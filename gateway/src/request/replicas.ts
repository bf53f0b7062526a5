/**
 * Distributes requests over the replicas of the services. undici's DNS interceptor rotates over the addresses
 * that this module provides, from the configured list or from DNS. A request that could not be sent to one
 * replica is sent to another.
 */
import { promises as dns } from 'node:dns';
import { isIP } from 'node:net';
import { Readable } from 'node:stream';
import { type Agent, type Dispatcher, interceptors } from 'undici';
import { SERVICES, type Service } from './routes.ts';

/** Interval between DNS look-ups, and how long an address is skipped after a failed connection. */
const REFRESH_MS = 5_000;
const TRIES = 4;
const RETRY_DELAY_MS = 50;

/** Codes of failed connections. */
const NO_CONNECTION = new Set([
  ...['ECONNREFUSED', 'ECONNRESET', 'EPIPE', 'ETIMEDOUT', 'EHOSTUNREACH', 'ENETUNREACH'],
  ...['UND_ERR_CONNECT_TIMEOUT', 'UND_ERR_SOCKET'],
]);

interface Address {
  address: string;
  family: 4 | 6;
  port: number;
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

/** @param urls one origin with a name for each service, or several with IP addresses */
export const createReplicas = (
  urls: Record<Service, readonly string[]>,
  refreshMs: number = REFRESH_MS,
): Replicas => {
  const addressesByService = new Map<string, readonly Address[]>();
  const refresh = async (service: Service): Promise<void> => {
    const addresses = await Promise.all(urls[service].map((url) => addressesOf(new URL(url))));
    addressesByService.set(service, addresses.flat());
  };
  const named = SERVICES.filter((service) => urls[service].some((url) => !hasIp(new URL(url))));
  // If no name server responds, the last addresses stay in use.
  const refreshNamed = () => Promise.allSettled(named.map(refresh));
  const timer = setInterval(refreshNamed, refreshMs).unref();
  let turn = 0;
  const lookUp = async (service: Service): Promise<Address[]> => {
    if (!addressesByService.has(service)) await refresh(service);
    const addresses = addressesByService.get(service) ?? [];
    // After each look-up, the interceptor begins with the first address.
    turn += 1;
    return addresses.map((_, index) => ({ ...(addresses[(index + turn) % addresses.length] as Address) }));
  };
  return {
    origins: Object.fromEntries(
      SERVICES.map((service) => [service, `${new URL(urls[service][0] ?? '').protocol}//${service}`]),
    ) as Record<Service, string>,
    balance: (agent) => {
      const storage = Object.assign(new Map<string, Records>(), { full: () => false });
      const leave = (origin: string | URL): void => forget(storage, new URL(origin));
      agent.on('connectionError', leave);
      return agent.compose(
        noticeLeaving(leave),
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
    close: () => clearInterval(timer),
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
  return resolved.map(({ address, family }) => ({ address, family: family === 6 ? 6 : 4, port }));
};

/** The interceptor's records of a service. */
interface Records {
  records: Record<4 | 6, { ips: Address[] } | null>;
}

/** Removes an address until the next look-up. */
const forget = (storage: ReadonlyMap<string, Records>, origin: URL): void => {
  for (const { records } of storage.values()) {
    for (const family of [records[4], records[6]]) {
      const index = family?.ips.findIndex(
        ({ address, port }) => address === withoutBrackets(origin) && port === portOf(origin),
      );
      if (family != null && index !== undefined && index >= 0) family.ips.splice(index, 1);
    }
  }
};

/**
 * Removes the address of a replica whose response closes the connection. A replica does this only while it is
 * stopping.
 */
const noticeLeaving =
  (leave: (origin: string | URL) => void): Dispatcher.DispatcherComposeInterceptor =>
  (dispatch) =>
  (options, handler) =>
    dispatch(options, {
      ...passedOn(handler),
      onResponseStart: (...args) => {
        if (args[2].connection === 'close' && options.origin !== undefined) leave(options.origin);
        handler.onResponseStart?.(...args);
      },
    });

const passedOn = (handler: Dispatcher.DispatchHandler): Dispatcher.DispatchHandler => ({
  onRequestStart: (...args) => handler.onRequestStart?.(...args),
  onRequestUpgrade: (...args) => handler.onRequestUpgrade?.(...args),
  onResponseStart: (...args) => handler.onResponseStart?.(...args),
  onResponseData: (...args) => handler.onResponseData?.(...args),
  onResponseEnd: (...args) => handler.onResponseEnd?.(...args),
  onResponseError: (...args) => handler.onResponseError?.(...args),
});

/** Safe for every method, because no part of the request was sent. */
const sendElsewhere: Dispatcher.DispatcherComposeInterceptor = (dispatch) => (options, handler) => {
  let tries = 0;
  let isSent = false;
  const isRefused = (error: Error & { code?: string }): boolean =>
    !isSent && tries < TRIES && NO_CONNECTION.has(error.code ?? '');
  const send = (): boolean => {
    tries += 1;
    return dispatch(options, attempt);
  };
  const attempt: Dispatcher.DispatchHandler = {
    ...passedOn(handler),
    onRequestStart: (controller, context) => {
      isSent = true;
      handler.onRequestStart?.(controller, context);
    },
    onResponseError: (controller, error) => {
      if (isRefused(error)) setTimeout(send, RETRY_DELAY_MS);
      else handler.onResponseError?.(controller, error);
    },
  };
  // Between two attempts, nothing else listens for errors of the body.
  if (options.body instanceof Readable) options.body.on('error', () => undefined);
  return send();
};
