/**
 * Limits on concurrent requests: a total, and a share for each service, for uploads, for downloads and for the
 * gateway's own routes. An unresponsive service or slow clients therefore leave room for all other requests.
 */
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { GatewayConfig } from '../config.ts';
import { clientGone, overloaded, type ReadBody } from './body.ts';
import { findTarget, SERVICES, type Service, transferOf } from './routes.ts';

type Share = Service | 'uploads' | 'downloads' | 'gateway';

export interface OpenRequests {
  /** Counts a request until its response is closed. Throws 503 at a limit. */
  admit(request: IncomingMessage, response: ServerResponse): void;
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

/** Places for requests. A request has at most one place. */
interface Places {
  limit: number;
  occupants: Set<IncomingMessage>;
}

const isFull = ({ limit, occupants }: Places): boolean => occupants.size >= limit;

export const createOpenRequests = (
  {
    OPEN_REQUESTS_LIMIT: total,
    OPEN_UPLOADS_LIMIT: uploads,
  }: Pick<GatewayConfig, 'OPEN_REQUESTS_LIMIT' | 'OPEN_UPLOADS_LIMIT'>,
  readBody: ReadBody,
): OpenRequests => {
  const create = (limit: number): Places => ({ limit, occupants: new Set() });
  const shares = new Map<Share, Places>([['uploads', create(uploads)]]);
  for (const share of [...SERVICES, 'downloads', 'gateway'] as const) {
    shares.set(share, create(shareOfTotal(total)));
  }
  const all = create(total);
  const placesOf = (request: IncomingMessage): Places => shares.get(shareOf(request)) ?? all;
  return {
    admit: (request, response) => {
      const share = placesOf(request);
      if (isFull(all) || isFull(share)) throw overloaded();
      all.occupants.add(request);
      share.occupants.add(request);
      response.once('close', () => {
        all.occupants.delete(request);
        share.occupants.delete(request);
      });
    },
    readBody: async (request, limitBytes) => {
      const share = placesOf(request);
      share.occupants.delete(request);
      const body = await readBody(request, limitBytes);
      // The client has disconnected, and no event would free the place.
      if (!all.occupants.has(request)) throw clientGone();
      if (isFull(share)) throw overloaded();
      share.occupants.add(request);
      return body;
    },
  };
};

/** Ends a response that the client does not read in time. */
export const limitReading = (response: ServerResponse, timeoutMs: number): void => {
  const late = setTimeout(() => response.destroy(), timeoutMs).unref();
  response.once('close', () => clearTimeout(late));
};
