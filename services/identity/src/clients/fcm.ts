/** Push messages through Firebase Cloud Messaging, HTTP v1. */
import { createGoogleAccessTokens, type ServiceAccount } from '@fitness/shared/http/google-access-tokens.ts';
import { createProviderClient, type ProviderResponse } from '@fitness/shared/http/provider-client.ts';
import type { Clock } from '@fitness/shared/kernel/clock.ts';
import type { Metrics } from '@fitness/shared/kernel/metrics.ts';
import { z } from 'zod';
import { cutText } from '../domain/cut-text.ts';

interface PushMessage {
  /** The registration token of the device. */
  token: string;
  title: string;
  body: string;
  data: Record<string, string>;
  /** At most 64 bytes. On a device the newest message with a tag replaces the earlier ones. */
  tag: string;
}

/**
 * `sent`: Firebase has accepted the message. `gone`: this token will never work again. `refused`: this message will never
 * be accepted. `failed`: it may or may not have been sent; `reason` contains no personal data. `retryAfterMs`: how long
 * Firebase asks to wait.
 */
type PushOutcome =
  | { outcome: 'sent' | 'gone' | 'refused' }
  | { outcome: 'failed'; reason: string; retryAfterMs?: number | undefined };

export interface PushSender {
  /** Never rejects. */
  send(message: PushMessage): Promise<PushOutcome>;
  close(): void;
}

export interface FcmOptions extends ServiceAccount {
  baseUrl: string;
  projectId: string;
  timeoutMs: number;
}

const SCOPE = 'https://www.googleapis.com/auth/firebase.messaging';
const TOKEN_FIELD = 'message.token';
/** The token was issued for another Firebase project, or its app is no longer installed. */
const GONE: ReadonlySet<string> = new Set(['UNREGISTERED', 'SENDER_ID_MISMATCH']);

/** Firebase accepts messages of up to 4,096 bytes. The app reads the whole text by the id. */
const MAX_TITLE_BYTES = 256;
const MAX_BODY_BYTES = 1_024;

const errorSchema = z.object({
  error: z.object({
    status: z.string().optional(),
    details: z
      .array(
        z.object({
          errorCode: z.string().optional(),
          fieldViolations: z.array(z.object({ field: z.string().optional() })).optional(),
        }),
      )
      .default([]),
  }),
});

export const createFcm = (
  options: FcmOptions,
  { realTime, metrics }: { realTime: Clock; metrics: Metrics },
): PushSender => {
  const { baseUrl, projectId, timeoutMs } = options;
  const client = createProviderClient({ target: 'fcm', metrics, deadlineMs: timeoutMs });
  const tokens = createGoogleAccessTokens(options, { client, realTime, scope: SCOPE });
  const url = `${baseUrl}/v1/projects/${encodeURIComponent(projectId)}/messages:send`;

  const sendOnce = async (body: string): Promise<PushOutcome & { refusedToken?: string }> => {
    const token = await tokens.get();
    if ('detail' in token) return { outcome: 'failed', reason: token.detail };
    const headers = { authorization: `Bearer ${token.value}`, 'content-type': 'application/json' };
    try {
      const response = await client.send({ method: 'POST', url, headers, body });
      const outcome = toOutcome(response);
      return response.status === 401 ? { ...outcome, refusedToken: token.value } : outcome;
    } catch (error) {
      const { message, retryAfterMs } = error as Error & { retryAfterMs?: number };
      return { outcome: 'failed', reason: message, retryAfterMs };
    }
  };

  return {
    send: async (message) => {
      const body = JSON.stringify({ message: toFcm(message) });
      const first = await sendOnce(body);
      if (first.refusedToken === undefined) return first;
      // An access token may be revoked before it expires: a refused one is replaced once.
      tokens.discard(first.refusedToken);
      return sendOnce(body);
    },
    close: () => client.close(),
  };
};

/** Firebase has no idempotency key. A message that is sent twice replaces itself on the device because of its tag. */
const toFcm = ({ token, title, body, data, tag }: PushMessage) => ({
  token,
  notification: { title: cutText(title, MAX_TITLE_BYTES), body: cutText(body, MAX_BODY_BYTES) },
  data,
  android: { collapse_key: tag, notification: { tag } },
  apns: { headers: { 'apns-collapse-id': tag } },
  webpush: { notification: { tag } },
});

const toOutcome = ({ status, text, retryAfterMs }: ProviderResponse): PushOutcome => {
  if (status === 200) return { outcome: 'sent' };
  const error = readError(text)?.error;
  const details = error?.details ?? [];
  const code = details.find(({ errorCode }) => errorCode !== undefined)?.errorCode;
  const violated = details.flatMap(({ fieldViolations = [] }) => fieldViolations.map(({ field }) => field));
  const isGone = (code !== undefined && GONE.has(code)) || (status === 400 && violated.includes(TOKEN_FIELD));
  if (isGone) return { outcome: 'gone' };
  if (status === 400 && error?.status === 'INVALID_ARGUMENT') return { outcome: 'refused' };
  return { outcome: 'failed', reason: `fcm returned HTTP ${status}`, retryAfterMs };
};

const readError = (text: string): z.output<typeof errorSchema> | undefined => {
  try {
    return errorSchema.safeParse(JSON.parse(text)).data;
  } catch {
    return undefined;
  }
};
