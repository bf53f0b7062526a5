/** What happens to a request before its body is read: limits, authentication, routing, and the checks of its service. */
import { setImmediate } from 'node:timers/promises';
import { API_PREFIX } from '@fitness/shared/http/gateway-protocol.ts';
import type { FastifyReply, FastifyRequest } from 'fastify';
import type { Dependencies } from '../dependencies.ts';
import { assertAudience } from './bearer.ts';
import { BODY_LIMIT_BYTES, clientGone, tooLarge, UPLOAD_LIMIT_BYTES } from './body.ts';
import { type CheckDependencies, checkHeaders } from './check-headers.ts';
import { clientAddressOf } from './client-address.ts';
import { UNKNOWN_TYPE } from './forward-headers.ts';
import { type ForwardDependencies, isOauth, prepareForward, WITHOUT_BODY } from './prepare-forward.ts';
import { transferOf } from './routes.ts';
import type { EnterUser } from './user-limit.ts';

const MEDIA_TYPE = /^[\w!#$%&'*+.^`|~-]+\/[\w!#$%&'*+.^`|~-]+\s*(?:;|$)/;

export type AdmitDependencies = ForwardDependencies &
  CheckDependencies &
  Pick<Dependencies, 'addressLimit' | 'baseUrl'>;

/** Checks before a service is called and the body is read. `reply` is sent if the service refuses the headers. */
export const admit = async (
  request: FastifyRequest,
  reply: FastifyReply,
  dependencies: AdmitDependencies,
): Promise<void> => {
  const { addressLimit, baseUrl, trustedProxies } = dependencies;
  // This runs before authentication, because the limit protects identity too.
  await addressLimit?.(clientAddressOf(request.raw, trustedProxies), reply);
  const forward = await prepareForward(request.raw, request.raw.url ?? '', dependencies);
  assertAudience(forward.caller, baseUrl, API_PREFIX);
  request.forward = forward;
  if (isBodyPending(request)) {
    // Node parses a body in the packet of its headers only after the promises that the headers resolve.
    await setImmediate();
    if (isBodyPending(request)) await checkHeaders(request, reply, dependencies);
  }
  if (reply.sent) return;
  const isUpload = transferOf(forward.target, request.method) === 'uploads';
  const limitBytes = isUpload ? UPLOAD_LIMIT_BYTES : BODY_LIMIT_BYTES;
  if (Number(request.headers['content-length'] ?? 0) > limitBytes) throw tooLarge();
  // The service refuses the type and names what it accepts. The framework would ask for JSON.
  const type = request.headers['content-type'];
  if (type !== undefined && !MEDIA_TYPE.test(type)) request.headers['content-type'] = UNKNOWN_TYPE;
};

/** Requests of `/oauth` are excluded, because identity checks only their bodies. */
const isBodyPending = ({ raw, method, forward }: FastifyRequest): boolean =>
  !raw.complete && !WITHOUT_BODY.has(method) && !isOauth(forward.target);

/** Limits the uploads of a user. Media refuses guests before their bodies are read. */
export const limitUploads = (request: FastifyRequest, reply: FastifyReply, enter: EnterUser): void => {
  const { target, caller } = request.forward;
  if (caller.kind === 'guest' || transferOf(target, request.method) !== 'uploads') return;
  // No event would free the place.
  if (reply.raw.destroyed) throw clientGone();
  reply.raw.once('close', enter(caller.userId));
};
