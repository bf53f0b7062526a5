/**
 * Limits on concurrent requests: a total, and a share for each service, for uploads, for downloads and for the
 * gateway's own routes. An unresponsive service or slow clients therefore leave room for all other requests.
 */
import type { IncomingMessage, ServerResponse } from 'node:http';
import { networkOf, siteOf } from '@fitness/shared/http/client-network.ts';
import { createFairQueue } from '@fitness/shared/kernel/fair-queue.ts';
import type { GatewayConfig } from '../config.ts';
import { clientGone, overloaded, type ReadBody } from './body.ts';
import { clientAddressOf } from './client-address.ts';
import { findTarget, SERVICES, type Service, transferOf } from './routes.ts';

type Share = Service | 'uploads' | 'downloads' | 'gateway';

export interface OpenRequests {
  /** Counts a request until its response is closed. At a limit, it waits for a place. Throws 503. */
  admit(request: IncomingMessage, response: ServerResponse): Promise<void>;
  /**
   * Reads the body of an admitted request. Meanwhile the request does not occupy its share, because bodies being
   * received have a separate limit. Throws 503 if the share is full afterwards.
   */
  readBody: ReadBody;
}

/**
 * Each share but that of uploads is a quarter of the total. At least four full shares are needed to reach the
 * total.
 */
const SHARES = 4;

export const shareOfTotal = (total: number): number => Math.ceil(total / SHARES);

export const shareOf = ({ url = '', method = '' }: IncomingMessage): Share => {
  const target = findTarget(url);
  if (target === undefined) return 'gateway';
  const transfer = transferOf(target, method);
  return transfer === 'ordinary' ? target.service : transfer;
};

/** The places of a share that one network can have at most. Other networks need not wait for its requests. */
export const placesPerNetwork = (limit: number): number => Math.ceil((limit * 15) / 16);
const WAIT_MAX_MS = 1_000;

type Free = () => void;

/** Networks take turns. If too many requests wait, the newest one of the network with the most is refused. */
const createPlaces = (limit: number) => {
  const queue = createFairQueue({
    maxRunning: limit,
    maxPerOwner: placesPerNetwork(limit),
    maxWaiting: () => limit / 4,
    maxWaitMs: WAIT_MAX_MS,
  });
  /** Resolves when there is a place. Throws 503. */
  return (network: string): Promise<Free> =>
    new Promise((resolve, reject) => {
      const hold = () => new Promise<void>((free) => resolve(free));
      queue(network, hold).catch(() => reject(overloaded()));
    });
};

export const createOpenRequests = (
  config: Pick<GatewayConfig, 'OPEN_REQUESTS_LIMIT' | 'OPEN_UPLOADS_LIMIT' | 'TRUST_PROXY'>,
  readBody: ReadBody,
): OpenRequests => {
  const { OPEN_REQUESTS_LIMIT: total, OPEN_UPLOADS_LIMIT: uploads } = config;
  const shares = new Map([['uploads' as Share, createPlaces(uploads)]]);
  for (const share of [...SERVICES, 'downloads', 'gateway'] as const) {
    shares.set(share, createPlaces(shareOfTotal(total)));
  }
  const enterTotal = createPlaces(total);
  const networkOfClient = (request: IncomingMessage): string =>
    siteOf(networkOf(clientAddressOf(request, config.TRUST_PROXY)));
  const enterShare = (request: IncomingMessage): Promise<Free> =>
    (shares.get(shareOf(request)) ?? enterTotal)(networkOfClient(request));
  /** The places in shares. */
  const places = new Map<IncomingMessage, Free>();
  return {
    admit: async (request, response) => {
      places.set(request, await enterShare(request));
      whenClosed(response, () => {
        places.get(request)?.();
        places.delete(request);
      });
      whenClosed(response, await enterTotal(networkOfClient(request)));
    },
    readBody: async (request, limitBytes) => {
      places.get(request)?.();
      const body = await readBody(request, limitBytes);
      const leaveShare = await enterShare(request);
      // The client has disconnected, and no event would free the place.
      if (!places.has(request)) {
        leaveShare();
        throw clientGone();
      }
      places.set(request, leaveShare);
      return body;
    },
  };
};

/** A client that has disconnected while its request waited causes no further event. */
const whenClosed = (response: ServerResponse, free: Free): void => {
  if (response.closed) free();
  else response.once('close', free);
};

/** Ends a response that the client does not read in time. */
export const limitReading = (response: ServerResponse, timeoutMs: number): void => {
  const late = setTimeout(() => response.destroy(), timeoutMs).unref();
  response.once('close', () => clearTimeout(late));
};
