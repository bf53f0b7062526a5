/** How an outside world fails: not at all, late, or with nonsense. Shared by every emulated provider. */
import type { Clock } from '@fitness/shared/clock.ts';
import type { FastifyReply, FastifyRequest } from 'fastify';
import type { Purchase, SandboxState } from './state.ts';

export interface World {
  state: SandboxState;
  clock: Clock;
  /** How long the mode `slow` keeps a caller waiting. */
  slowMs: number;
}

/** The connection ends without a byte of an answer, as when a provider is down. */
export function dropConnection(request: FastifyRequest, reply: FastifyReply): void {
  reply.hijack();
  request.raw.socket.destroy();
}

/**
 * Waits out the slow delay. False when there is nobody left to answer: the client gave up, or everything was
 * forgotten meanwhile; then the exchange is over and nothing may be recorded for it.
 */
export async function waitSlowly(
  world: World,
  request: FastifyRequest,
  reply: FastifyReply,
): Promise<boolean> {
  const { generation } = world.state;
  await new Promise<void>((resolve) => {
    const timer = setTimeout(resolve, world.slowMs);
    reply.raw.once('close', () => {
      clearTimeout(timer);
      resolve();
    });
  });
  if (!request.raw.socket.destroyed && world.state.generation === generation) return true;
  dropConnection(request, reply);
  return false;
}

/**
 * Finds the purchase a store is asked about and lets it misbehave when it was told to. `answered`: the exchange is
 * over. `not_found`: no such token, or (when `productId` is given) a token of another product.
 */
export async function findPurchase(
  world: World,
  request: FastifyRequest,
  reply: FastifyReply,
  wanted: { token: string; productId?: string },
): Promise<Purchase | 'not_found' | 'answered'> {
  const told = world.state.purchases.get(wanted.token)?.state;
  if (told === 'unreachable') {
    dropConnection(request, reply);
    return 'answered';
  }
  if (told === 'garbage') {
    await reply.type('text/html').send('<html><body><h1>Service temporarily moved</h1></body></html>');
    return 'answered';
  }
  if (told === 'slow' && !(await waitSlowly(world, request, reply))) return 'answered';
  // Looked up again: the state may have been changed during a slow wait.
  const purchase = world.state.purchases.get(wanted.token);
  if (!purchase) return 'not_found';
  if (wanted.productId !== undefined && purchase.productId !== wanted.productId) return 'not_found';
  return purchase;
}

/** What the store itself believes, once the line's own troubles are taken away. */
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
