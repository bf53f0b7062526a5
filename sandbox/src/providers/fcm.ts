/**
 * Firebase Cloud Messaging, HTTP v1: `POST /v1/projects/{project}/messages:send`, and the OAuth endpoint that issues its
 * access tokens.
 */
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { z } from 'zod';
import type { PushMode } from '../state.ts';
import { dropConnection, endedByMode, type Harness, type Provider, waitSlowly } from '../wire.ts';
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

type Refusal = readonly [code: number, status: string, message: string, details?: readonly unknown[]];

function fail(reply: FastifyReply, [code, status, message, details]: Refusal): FastifyReply {
  return reply.code(code).send({ error: { code, status, message, details } });
}

const fcmError = (errorCode: string) => ({
  '@type': 'type.googleapis.com/google.firebase.fcm.v1.FcmError',
  errorCode,
});

const badField = (field: string, description: string) => ({
  '@type': 'type.googleapis.com/google.rpc.BadRequest',
  fieldViolations: [{ field, description }],
});

const invalidArgument = (field: string, message: string): Refusal => [
  400,
  'INVALID_ARGUMENT',
  message,
  [fcmError('INVALID_ARGUMENT'), badField(field, message)],
];

/** The key is the mode of the device. */
const REFUSALS: Partial<Record<PushMode, Refusal>> = {
  unregistered: [404, 'NOT_FOUND', 'Requested entity was not found.', [fcmError('UNREGISTERED')]],
  sender_mismatch: [403, 'PERMISSION_DENIED', 'SenderId mismatch', [fcmError('SENDER_ID_MISMATCH')]],
  invalid_argument: invalidArgument('message', 'Request contains an invalid argument.'),
  quota: [429, 'RESOURCE_EXHAUSTED', 'Quota exceeded for the device.', [fcmError('QUOTA_EXCEEDED')]],
  unavailable: [503, 'UNAVAILABLE', 'The service is currently unavailable.', [fcmError('UNAVAILABLE')]],
};

type Message = z.infer<typeof messageSchema>['message'];

const problemOf = ({ token, notification, data, apns }: Message): Refusal | undefined => {
  if (!REGISTRATION_TOKEN.test(token))
    return invalidArgument('message.token', 'The registration token is not a valid FCM registration token');
  if (Buffer.byteLength(JSON.stringify({ notification, data })) > MAX_PAYLOAD_BYTES)
    return invalidArgument('message', 'Android message is too big');
  if (Buffer.byteLength(apns?.headers?.['apns-collapse-id'] ?? '') > MAX_COLLAPSE_ID_BYTES)
    return invalidArgument('message.apns.headers', 'apns-collapse-id is too long');
  return undefined;
};

async function send(
  harness: Harness,
  request: FastifyRequest<{ Params: { '*': string } }>,
  reply: FastifyReply,
) {
  const [, project] = /^([^/]+)\/messages:send$/.exec(request.params['*']) ?? [];
  if (project === undefined) return reply.code(404).type('text/html').send('<title>Error 404</title>');
  const bearer = oauth.judgeBearer(harness, request);
  if (bearer === 'missing')
    return fail(reply, [401, 'UNAUTHENTICATED', 'Request had invalid authentication credentials.']);
  if (bearer === 'refused' || project !== PROJECT) {
    const message = "Permission 'cloudmessaging.messages.create' denied on the resource.";
    return fail(reply, [403, 'PERMISSION_DENIED', message]);
  }
  const parsed = messageSchema.safeParse(request.body);
  if (!parsed.success) {
    const field = parsed.error.issues[0]?.path.join('.') ?? '';
    return fail(reply, invalidArgument(field, 'Invalid JSON payload received.'));
  }
  const { message, validate_only: validateOnly } = parsed.data;
  const problem = problemOf(message);
  if (problem) return fail(reply, problem);
  const { token, notification, data = {}, android } = message;
  const mode = harness.state.pushModes.of(token);
  const refusal = REFUSALS[mode];
  if (mode === 'quota' || mode === 'unavailable')
    reply.header('retry-after', String(harness.state.pushRetryAfterS));
  if (refusal) return fail(reply, refusal);
  if (await endedByMode(harness, request, reply, mode)) return reply;
  const id = validateOnly ? 'fake_message_id' : `0:${harness.state.nextId()}`;
  if (!validateOnly) {
    const { title = '', body = '' } = notification ?? {};
    harness.state.recordPush({ token, title, body, data, tag: android?.notification?.tag ?? null });
  }
  if (harness.state.pushModes.of(token) === 'unanswered') {
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
