/** Failures of emulated providers: no response, a late one, or an invalid one. */
import type { Clock } from '@fitness/shared/kernel/clock.ts';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import type { SandboxClock } from './clock.ts';
import { foldDigits, type Purchase, type SandboxState, SETTLED_STATES, type SettledState } from './state.ts';

export interface Harness {
  state: SandboxState;
  clock: SandboxClock;
  /** Never advanced: an access token must not expire while a request uses it. */
  realTime: Clock;
  /** Whether the processes of the product follow the clock, which can then be advanced. */
  isFollowed: boolean;
  /** How long the mode `slow` keeps a caller waiting. */
  slowMs: number;
  /** Origin of the gateway, for browsers. */
  apiUrl: string;
}

export interface Provider {
  /** Path of its routes in the sandbox. */
  prefix: string;
  /** Hosts of the original, which its clients send as `Host`. */
  originalHosts: readonly string[];
  /** The variables with which the product calls it. `base` is the sandbox's origin with the prefix. */
  environment(base: string): Record<string, string>;
  mount(app: FastifyInstance, harness: Harness): Promise<void>;
}

/** The address that serves a provider at its root: an origin without a trailing slash. */
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
 * Waits for the slow delay. Returns false if the client disconnected or the sandbox was reset meanwhile. Nothing
 * may be recorded then.
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

/** True if the mode ended the exchange: the connection was dropped, or the client has left a slow one. */
export async function endedByMode(
  harness: Harness,
  request: FastifyRequest,
  reply: FastifyReply,
  mode: string | undefined,
): Promise<boolean> {
  if (mode === 'slow') return !(await waitSlowly(harness, request, reply));
  if (mode !== 'unreachable') return false;
  dropConnection(request, reply);
  return true;
}

/** The first run of four to eight digits in a message is treated as its code. */
export function codeIn(message: string): string | null {
  return /(?<!\d)\d{4,8}(?!\d)/.exec(foldDigits(message))?.[0] ?? null;
}

/**
 * Finds the requested purchase and simulates its failure mode. Undefined if the response was sent, by `refuse` for an unknown token,
 * for one of a product other than `productId`, and for a purchase in none of the `states`.
 */
export async function findPurchase(
  harness: Harness,
  request: FastifyRequest,
  reply: FastifyReply,
  query: { token: string; productId?: string; states?: readonly SettledState[] },
  refuse: () => FastifyReply,
): Promise<Purchase | undefined> {
  const state = harness.state.purchases.get(query.token)?.state;
  if (state === 'garbage') {
    reply.type('text/html').send('<html><body><h1>Service temporarily moved</h1></body></html>');
    return undefined;
  }
  if (await endedByMode(harness, request, reply, state)) return undefined;
  // Looked up again: the state may have been changed during a slow wait.
  const purchase = harness.state.purchases.get(query.token);
  const { states = SETTLED_STATES, productId = purchase?.productId } = query;
  if (purchase && purchase.productId === productId && states.includes(settledState(purchase)))
    return purchase;
  refuse();
  return undefined;
}

/** The state of the purchase at the store, without failures of the connection. */
export function settledState({ state }: Purchase): SettledState {
  return SETTLED_STATES.find((settled) => settled === state) ?? 'purchased';
}

/**
 * `missing` without a credential, `refused` for one that begins with "invalid", otherwise `good`. This shows how the product
 * handles refused credentials.
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
