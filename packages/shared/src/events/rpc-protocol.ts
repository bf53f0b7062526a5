/** What travels between the asking and the answering side of a command, and how asking can fail. */
import { z } from 'zod';

/** The command was definitely not handled and never will be: it did not reach the queue. */
export class RpcNotSentError extends Error {
  override name = 'RpcNotSentError';
}

/** The outcome is unknown: the command was sent, and no answer came. */
export class RpcTimeoutError extends Error {
  override name = 'RpcTimeoutError';
}

/**
 * The other side answered that it failed. `code` is `invalid_request` when the command was refused unread (nothing
 * happened), `invalid_response` when the answer could not be understood, and `failed` when handling threw: whether
 * it had its effect is then unknown, so a handler returns the outcomes it knows as values.
 */
export class RpcRemoteError extends Error {
  override name = 'RpcRemoteError';
  readonly code: RpcFailureCode;
  constructor(code: RpcFailureCode, text: string) {
    super(text);
    this.code = code;
  }
}

export type RpcFailureCode = 'invalid_request' | 'invalid_response' | 'failed';

export const replySchema = z.discriminatedUnion('ok', [
  z.object({ ok: z.literal(true), result: z.unknown() }),
  z.object({ ok: z.literal(false), code: z.enum(['invalid_request', 'failed']), message: z.string() }),
]);

export type RpcReply = z.output<typeof replySchema>;

/** The queue of a command, `commandQueue('fitness', 'sms.send')`. */
export const commandQueue = (namespace: string, command: string): string =>
  `${namespace}.commands.${command}`;
