/** Who calls what: the target of a request, its caller, and the signed context for the service. */
import type { IncomingMessage } from 'node:http';
import { type Caller, GUEST } from '@fitness/shared/kernel/caller.ts';
import { notFound } from '@fitness/shared/kernel/error.ts';
import type { FastifyRequest } from 'fastify';
import type { Dependencies } from '../dependencies.ts';
import { clientAddressOf } from './client-address.ts';
import { findTarget, OAUTH_PREFIX, type Target } from './routes.ts';

/** How long a token is treated as valid after its check, within one request. */
export const TOKEN_CHECK_VALID_MS = 500;
export const WITHOUT_BODY = new Set(['GET', 'HEAD']);

declare module 'fastify' {
  interface FastifyRequest {
    forward: Forward;
  }
}

export interface Forward {
  target: Target;
  caller: Caller;
  /** The signed caller context. */
  context: string;
  clientAddress: string;
  /** Time limit for the service. */
  timeoutMs: number;
  /** Whether the service has checked the headers and counted the request. */
  isChecked?: boolean;
}

export type ForwardDependencies = Pick<
  Dependencies,
  'authenticate' | 'serviceTimeoutMs' | 'signer' | 'trustedProxies'
>;

/** Routes `url` and authenticates the token of `raw`. Throws 401, 404, and 503 if identity does not respond. */
export const prepareForward = async (
  raw: IncomingMessage,
  url: string,
  { authenticate, serviceTimeoutMs, signer, trustedProxies }: ForwardDependencies,
): Promise<Forward> => {
  const target = findTarget(url);
  const caller = target !== undefined && isOauth(target) ? GUEST : await authenticate(raw);
  if (target === undefined) throw notFound();
  const context = signer.sign(target.service, caller);
  const clientAddress = clientAddressOf(raw, trustedProxies);
  return { target, caller, context, clientAddress, timeoutMs: serviceTimeoutMs };
};

export const isOauth = ({ path }: Target): boolean => path.startsWith(`${OAUTH_PREFIX}/`);

/** Throws 401 for a token that was revoked while its body arrived slowly. */
export const assertStillValid = async (
  request: FastifyRequest,
  startedAt: number,
  dependencies: ForwardDependencies,
): Promise<void> => {
  if (performance.now() - startedAt <= TOKEN_CHECK_VALID_MS) return;
  const { isChecked } = request.forward;
  const forward = await prepareForward(request.raw, request.raw.url ?? '', dependencies);
  request.forward = isChecked === undefined ? forward : { ...forward, isChecked };
};
