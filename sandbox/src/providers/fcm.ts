/**
 * Firebase Cloud Messaging, HTTP v1: `POST /v1/projects/{project}/messages:send`, and the OAuth endpoint that issues its
 * access tokens.
 */
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { z } from 'zod';
import { dropConnection, type Harness, type Provider, waitSlowly } from '../wire.ts';
import { googleOauth, serviceAccountKey } from './google-oauth.ts';

const oauth = googleOauth({
  scope: 'https://www.googleapis.com/auth/firebase.messaging',
  tokenPrefix: 'ya29.sandbox.messaging.',
});

/** The project of the sandbox's service account. Any other is refused. */
const PROJECT = 'sandbox';
const MAX_PAYLOAD_BYTES = 4_096;
const MAX_COLLAPSE_ID_BYTES = 64;
const REGISTRATION_TOKEN = /^[\w:-]{20,4096}$/;
/** Keys of `data` that Firebase reserves. */
const RESERVED_KEY = /^(?:from|message_type|google\..*|google|gcm\..*|gcm)$/;

const text = z.string();
/** The parts of the message that the product uses. Firebase refuses unknown names. */
const messageSchema = z.strictObject({
  validate_only: z.boolean().optional(),
  message: z.strictObject({
    token: text,
    notification: z.strictObject({ title: text.optional(), body: text.optional() }).optional(),
    data: z
      .record(
        text.refine((key) => !RESERVED_KEY.test(key)),
        text,
      )
      .optional(),
    android: z
      .strictObject({
        collapse_key: text.optional(),
        priority: z.enum(['NORMAL', 'HIGH']).optional(),
        ttl: text.regex(/^\d+(?:\.\d{1,9})?s$/).optional(),
        notification: z.strictObject({ tag: text.optional() }).optional(),
      })
      .optional(),
    apns: z.strictObject({ headers: z.record(text, text).optional() }).optional(),
    webpush: z
      .strictObject({
        headers: z.record(text, text).optional(),
        notification: z.looseObject({ tag: text.optional() }).optional(),
      })
      .optional(),
  }),
});

const FCM_ERROR = 'type.googleapis.com/google.firebase.fcm.v1.FcmError';

interface Refusal {
  code: number;
  status: string;
  message: string;
  details?: unknown[];
}

const fail = (reply: FastifyReply, error: Refusal): FastifyReply => reply.code(error.code).send({ error });

const fcmError = (errorCode: string) => ({ '@type': FCM_ERROR, errorCode });

const badField = (field: string, description: string) => ({
  '@type': 'type.googleapis.com/google.rpc.BadRequest',
  fieldViolations: [{ field, description }],
});

const invalidArgument = (reply: FastifyReply, field: string, message: string): FastifyReply =>
  fail(reply, {
    code: 400,
    status: 'INVALID_ARGUMENT',
    message,
    details: [fcmError('INVALID_ARGUMENT'), badField(field, message)],
  });

/** Sends the failure that is set for this device token. False if there is none and the message is accepted. */
async function failedByMode(
  harness: Harness,
  request: FastifyRequest,
  reply: FastifyReply,
  token: string,
): Promise<boolean> {
  switch (harness.state.pushModeFor(token)) {
    case 'ok':
    case 'unanswered':
      return false;
    case 'unregistered':
      fail(reply, {
        code: 404,
        status: 'NOT_FOUND',
        message: 'Requested entity was not found.',
        details: [fcmError('UNREGISTERED')],
      });
      return true;
    case 'sender_mismatch':
      fail(reply, {
        code: 403,
        status: 'PERMISSION_DENIED',
        message: 'SenderId mismatch',
        details: [fcmError('SENDER_ID_MISMATCH')],
      });
      return true;
    case 'invalid_argument':
      invalidArgument(reply, 'message', 'Request contains an invalid argument.');
      return true;
    case 'quota':
      reply.header('retry-after', String(harness.state.pushRetryAfterS));
      fail(reply, {
        code: 429,
        status: 'RESOURCE_EXHAUSTED',
        message: 'Quota exceeded for the device.',
        details: [fcmError('QUOTA_EXCEEDED')],
      });
      return true;
    case 'unavailable':
      reply.header('retry-after', String(harness.state.pushRetryAfterS));
      fail(reply, {
        code: 503,
        status: 'UNAVAILABLE',
        message: 'The service is currently unavailable.',
        details: [fcmError('UNAVAILABLE')],
      });
      return true;
    case 'unreachable':
      dropConnection(request, reply);
      return true;
    case 'slow':
      return !(await waitSlowly(harness, request, reply));
  }
}

async function send(
  harness: Harness,
  request: FastifyRequest<{ Params: { '*': string } }>,
  reply: FastifyReply,
) {
  const [, project] = /^([^/]+)\/messages:send$/.exec(request.params['*']) ?? [];
  if (project === undefined) return reply.code(404).type('text/html').send('<title>Error 404</title>');
  const bearer = oauth.judgeBearer(harness, request);
  if (bearer === 'missing') {
    return fail(reply, {
      code: 401,
      status: 'UNAUTHENTICATED',
      message: 'Request had invalid authentication credentials.',
    });
  }
  if (bearer === 'refused' || project !== PROJECT) {
    return fail(reply, {
      code: 403,
      status: 'PERMISSION_DENIED',
      message: "Permission 'cloudmessaging.messages.create' denied on the resource.",
    });
  }
  const parsed = messageSchema.safeParse(request.body);
  if (!parsed.success) {
    const [issue] = parsed.error.issues;
    return invalidArgument(reply, issue?.path.join('.') ?? '', 'Invalid JSON payload received.');
  }
  const { message, validate_only: validateOnly } = parsed.data;
  const { token, ...content } = message;
  if (!REGISTRATION_TOKEN.test(token)) {
    return invalidArgument(
      reply,
      'message.token',
      'The registration token is not a valid FCM registration token',
    );
  }
  const payload = { notification: content.notification, data: content.data };
  if (Buffer.byteLength(JSON.stringify(payload)) > MAX_PAYLOAD_BYTES) {
    return invalidArgument(reply, 'message', 'Android message is too big');
  }
  const collapseId = content.apns?.headers?.['apns-collapse-id'] ?? '';
  if (Buffer.byteLength(collapseId) > MAX_COLLAPSE_ID_BYTES) {
    return invalidArgument(reply, 'message.apns.headers', 'apns-collapse-id is too long');
  }
  if (await failedByMode(harness, request, reply, token)) return reply;
  const id = validateOnly ? 'fake_message_id' : `0:${harness.state.nextId()}`;
  if (!validateOnly) {
    harness.state.recordPush({
      token,
      title: content.notification?.title ?? '',
      body: content.notification?.body ?? '',
      data: content.data ?? {},
      tag: content.android?.notification?.tag ?? null,
    });
  }
  if (harness.state.pushModeFor(token) === 'unanswered') {
    if (await waitSlowly(harness, request, reply)) dropConnection(request, reply);
    return reply;
  }
  return reply.send({ name: `projects/${project}/messages/${id}` });
}

async function mount(app: FastifyInstance, harness: Harness): Promise<void> {
  await oauth.mountToken(app, harness);
  app.post<{ Params: { '*': string } }>('/v1/projects/*', (request, reply) => send(harness, request, reply));
}

export const fcm: Provider = {
  prefix: '/fcm',
  originalHosts: ['fcm.googleapis.com'],
  environment: (base) => ({
    FCM_BASE_URL: base,
    FCM_TOKEN_URL: `${base}/token`,
    FCM_PROJECT_ID: PROJECT,
    FCM_CLIENT_EMAIL: 'sandbox@example.com',
    FCM_PRIVATE_KEY: serviceAccountKey(),
  }),
  mount,
};
