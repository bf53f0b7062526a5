/**
 * Requests to the replicas of the services. undici's DNS interceptor takes the addresses in turn; here it learns them, from the
 * list of the configuration or from the records of a name. A request that has reached no replica is sent to another one.
 */
import { promises as dns } from 'node:dns';
import { isIP } from 'node:net';
import { Readable } from 'node:stream';
import { type Agent, type Dispatcher, interceptors } from 'undici';
import { SERVICES, type Service } from './routes.ts';

/** How soon a new record of a name is known, and how long an address is left out that could not be connected to. */
const REFRESH_MS = 5_000;
const TRIES = 4;
const RETRY_DELAY_MS = 50;

/** Why a connection cannot be made. */
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
  /** The origins that stand for all replicas of a service: the host is the name that its certificates have. */
  origins: Record<Service, string>;
  /** `agent`, which then knows these origins. Each takes turns of its own: what two of them do in pairs must not meet one replica. */
  balance(agent: Agent): Dispatcher;
  close(): void;
}

type Resolve = (name: string, options: { all: true }) => Promise<{ address: string; family: number }[]>;

/** `urls`: of each service one origin with a name, or several with IP addresses. */
export const createReplicas = (
  urls: Record<Service, readonly string[]>,
  // The system's, which knows the file of hosts and the domains that a short name is searched in.
  resolve: Resolve = dns.lookup,
): Replicas => {
  const known = new Map<string, readonly Address[]>();
  const refresh = async (service: Service): Promise<void> => {
    const found = await Promise.all(urls[service].map((url) => addressesOf(new URL(url), resolve)));
    known.set(service, found.flat());
  };
  const named = SERVICES.filter((service) => urls[service].some((url) => !hasIp(new URL(url))));
  // While no name server answers, the last addresses stay in use.
  const refreshNamed = () => Promise.allSettled(named.map(refresh));
  const timer = setInterval(refreshNamed, REFRESH_MS).unref();
  let turn = 0;
  const lookUp = async (service: Service): Promise<Address[]> => {
    if (!known.has(service)) await refresh(service);
    const addresses = known.get(service) ?? [];
    // The interceptor begins with the first one after each look-up.
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
          maxTTL: REFRESH_MS,
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

const addressesOf = async (url: URL, resolve: Resolve): Promise<Address[]> => {
  const port = portOf(url);
  const host = withoutBrackets(url);
  const found = hasIp(url) ? [{ address: host, family: isIP(host) }] : await resolve(host, { all: true });
  return found.map(({ address, family }) => ({ address, family: family === 6 ? 6 : 4, port }));
};

/** What the interceptor keeps of a service. */
interface Records {
  records: Record<4 | 6, { ips: Address[] } | null>;
}

/** Until the next look-up no request goes there. */
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

/** A service ends a connection with an answer only while it stops, and soon accepts no other one. */
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

/** Also of a method that may have an effect: nothing of the request was sent. */
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
  // Nobody else listens for its failure between two tries.
  if (options.body instanceof Readable) options.body.on('error', () => undefined);
  return send();
};
