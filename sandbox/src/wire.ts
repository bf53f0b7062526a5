/** The failures of emulated providers: no answer, a late answer, or an invalid one. */
import type { Clock } from '@fitness/shared/kernel/clock.ts';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import type { SandboxClock } from './clock.ts';
import type { Purchase, SandboxState } from './state.ts';

export interface Harness {
  state: SandboxState;
  clock: SandboxClock;
  /** Nothing advances it: access tokens do not end while a request with one is under way. */
  realTime: Clock;
  /** Whether the processes of the product follow the clock, which can then be advanced. */
  isFollowed: boolean;
  /** How long the mode `slow` keeps a caller waiting. */
  slowMs: number;
  /** Origin of the gateway, for browsers. */
  apiUrl: string;
}

export interface Provider {
  title: string;
  /** Path of its routes in the sandbox. */
  prefix: string;
  /** Where the original is: its clients send it as `Host`. */
  originalHosts: readonly string[];
  /** The variables with which the product calls it. `base` is the sandbox's origin with the prefix. */
  environment(base: string): Record<string, string>;
  mount(app: FastifyInstance, harness: Harness): Promise<void>;
}

/** Where a provider answers at the root: an origin without a trailing slash. */
export interface ProviderAddress {
  title: string;
  url: string;
}

/** Closes the connection without a response, as when a provider is down. */
export function dropConnection(request: FastifyRequest, reply: FastifyReply): void {
  reply.hijack();
  request.raw.socket.destroy();
}

/**
 * Waits for the slow delay. False when the client has disconnected or the sandbox was reset meanwhile; then nothing may be
 * recorded.
 */
export async function waitSlowly(
  harness: Harness,
  request: FastifyRequest,
  reply: FastifyReply,
): Promise<boolean> {
  const { generation } = harness.state;
  await new Promise<void>((resolve) => {
    const timer = setTimeout(resolve, harness.slowMs);
    reply.raw.once('close', () => {
      clearTimeout(timer);
      resolve();
    });
  });
  if (!request.raw.socket.destroyed && harness.state.generation === generation) return true;
  dropConnection(request, reply);
  return false;
}

/**
 * Finds the requested purchase and simulates its failure mode. `answered`: the response was sent. `not_found`: no such token, or (when `productId` is given) a token of another product.
 */
export async function findPurchase(
  harness: Harness,
  request: FastifyRequest,
  reply: FastifyReply,
  wanted: { token: string; productId?: string },
): Promise<Purchase | 'not_found' | 'answered'> {
  const told = harness.state.purchases.get(wanted.token)?.state;
  if (told === 'unreachable') {
    dropConnection(request, reply);
    return 'answered';
  }
  if (told === 'garbage') {
    await reply.type('text/html').send('<html><body><h1>Service temporarily moved</h1></body></html>');
    return 'answered';
  }
  if (told === 'slow' && !(await waitSlowly(harness, request, reply))) return 'answered';
  // Looked up again: the state may have been changed during a slow wait.
  const purchase = harness.state.purchases.get(wanted.token);
  if (!purchase) return 'not_found';
  if (wanted.productId !== undefined && purchase.productId !== wanted.productId) return 'not_found';
  return purchase;
}

/** The state of the purchase at the store, without failures of the connection. */
export function settledState(purchase: Purchase): 'purchased' | 'canceled' | 'refunded' | 'pending' {
  switch (purchase.state) {
    case 'canceled':
    case 'refunded':
    case 'pending':
      return purchase.state;
    case 'purchased':
    case 'slow':
    case 'garbage':
    case 'unreachable':
      return 'purchased';
  }
}

/**
 * `missing` without a credential, `refused` for one that begins with "invalid": a way to try how the product takes
 * a provider's no to its own credentials. Any other credential is good.
 */
export function judgeCredential(value: unknown): 'good' | 'missing' | 'refused' {
  if (typeof value !== 'string' || value === '') return 'missing';
  return value.startsWith('invalid') ? 'refused' : 'good';
}

export function asText(value: unknown): string {
  return typeof value === 'string' ? value : '';
}

export function asRecord(value: unknown): Record<string, unknown> {
  return typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : {};
}
