/**
 * Limits on the requests that are answered at one time: in total, and a share for each service, for uploads, for
 * downloads, and for what the gateway answers itself, so that a service that does not answer, or clients that are slow,
 * leave room for all other requests.
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
   * Reads the body of an admitted request, which has no place in its share meanwhile: bodies on their way have a limit of
   * their own. Throws 503 when the share is used up after it.
   */
  readBody: ReadBody;
}

/** A share is a quarter: four of them must be used up before the total is. */
const SHARES = 4;

export const shareOfTotal = (total: number): number => Math.ceil(total / SHARES);

export const shareOf = ({ url = '', method = '' }: IncomingMessage): Share => {
  const target = findTarget(url);
  if (target === undefined) return 'gateway';
  const transfer = transferOf(target, method);
  return transfer === 'ordinary' ? target.service : transfer;
};

/** Requests in it; each has at most one place. */
interface Places {
  limit: number;
  taken: Set<IncomingMessage>;
}

const isFull = ({ limit, taken }: Places): boolean => taken.size >= limit;

export const createOpenRequests = (
  {
    OPEN_REQUESTS_LIMIT: total,
    OPEN_UPLOADS_LIMIT: uploads,
  }: Pick<GatewayConfig, 'OPEN_REQUESTS_LIMIT' | 'OPEN_UPLOADS_LIMIT'>,
  readBody: ReadBody,
): OpenRequests => {
  const create = (limit: number): Places => ({ limit, taken: new Set() });
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
      all.taken.add(request);
      share.taken.add(request);
      response.once('close', () => {
        all.taken.delete(request);
        share.taken.delete(request);
      });
    },
    readBody: async (request, limitBytes) => {
      const share = placesOf(request);
      share.taken.delete(request);
      const body = await readBody(request, limitBytes);
      // The client disconnected: nothing would free the place.
      if (!all.taken.has(request)) throw clientGone();
      if (isFull(share)) throw overloaded();
      share.taken.add(request);
      return body;
    },
  };
};

/** Ends an answer that its client has not read in time. */
export const limitReading = (response: ServerResponse, timeoutMs: number): void => {
  const late = setTimeout(() => response.destroy(), timeoutMs).unref();
  response.once('close', () => clearTimeout(late));
};
