/**
 * Limits on the requests that are answered at one time: in total, and a share for each service, for uploads, for
 * downloads, and for what the gateway answers itself, so that a service that does not answer, or clients that are slow,
 * leave room for all other requests.
 */
import type { IncomingMessage, ServerResponse } from 'node:http';
import { AppError, message } from '@fitness/shared/kernel/error.ts';
import type { GatewayConfig } from './config.ts';
import { findTarget, SERVICES, type Service, transferOf } from './routes.ts';

type Share = Service | 'uploads' | 'downloads' | 'gateway';

export interface OpenRequests {
  /** Counts a request until its response is closed. Throws 503 at a limit. */
  admit(request: IncomingMessage, response: ServerResponse): void;
}

/** A share is a quarter: four of them must be used up before the total is. */
const SHARES = 4;
const RETRY_AFTER_S = 2;
/** Time for a refused client to send the rest of its body: while it sends, it cannot read the answer. */
const LINGER_MS = 5_000;

export const overloaded = (): AppError =>
  new AppError({
    kind: 'unavailable',
    code: 'overloaded',
    message: message('error.overloaded'),
    retryAfterS: RETRY_AFTER_S,
  });

export const shareOfTotal = (total: number): number => Math.ceil(total / SHARES);

export const shareOf = ({ url = '', method = '' }: IncomingMessage): Share => {
  const target = findTarget(url);
  if (target === undefined) return 'gateway';
  const transfer = transferOf(target, method);
  return transfer === 'ordinary' ? target.service : transfer;
};

export const createOpenRequests = ({
  OPEN_REQUESTS_LIMIT: total,
  OPEN_UPLOADS_LIMIT: uploads,
}: Pick<GatewayConfig, 'OPEN_REQUESTS_LIMIT' | 'OPEN_UPLOADS_LIMIT'>): OpenRequests => {
  const shares = new Map<Share, { limit: number; open: number }>([['uploads', { limit: uploads, open: 0 }]]);
  for (const share of [...SERVICES, 'downloads', 'gateway'] as const) {
    shares.set(share, { limit: shareOfTotal(total), open: 0 });
  }
  const all = { limit: total, open: 0 };
  return {
    admit: (request, response) => {
      const counters = [all, shares.get(shareOf(request)) ?? all];
      if (counters.some(({ open, limit }) => open >= limit)) {
        endLater(request);
        throw overloaded();
      }
      for (const counter of counters) counter.open += 1;
      response.once('close', () => {
        for (const counter of counters) counter.open -= 1;
      });
    },
  };
};

const endLater = (request: IncomingMessage): void => {
  setTimeout(() => {
    if (!request.complete) request.destroy();
  }, LINGER_MS).unref();
};
