/**
 * Request and reply over RabbitMQ, as the SMS command needs it. The RPC packages for amqplib limit only how long the
 * caller waits. Here a command must never be handled after its deadline, and a redelivered one never twice.
 */
import { z } from 'zod';
import type { Clock } from '../kernel/clock.ts';
import type { Logger } from '../kernel/log.ts';
import type { Broker } from './broker.ts';

/** The contract between caller and server. */
export interface Command<Request, Response> {
  /** `sms.send` */
  name: string;
  request: z.ZodType<Request>;
  response: z.ZodType<Response>;
}

/** The command did not reach the queue: it is never handled. */
export class RpcNotSentError extends Error {
  override name = 'RpcNotSentError';
}

/** The command was sent and no reply came: the outcome is unknown. */
export class RpcTimeoutError extends Error {
  override name = 'RpcTimeoutError';
}

export const replySchema = z.discriminatedUnion('ok', [
  z.object({ ok: z.literal(true), result: z.unknown() }),
  z.object({ ok: z.literal(false), code: z.enum(['invalid_request', 'failed']), message: z.string() }),
]);

export type Reply = z.output<typeof replySchema>;

/**
 * The server failed. `invalid_request`: it did not handle the command. `invalid_response`: its reply does not fit.
 * `failed`: the handler threw, and may have had its effect; a handler returns the outcomes that it knows as values.
 */
export class RpcRemoteError extends Error {
  override name = 'RpcRemoteError';
  readonly code: 'invalid_request' | 'invalid_response' | 'failed';
  constructor(code: RpcRemoteError['code'], text: string) {
    super(text);
    this.code = code;
  }
}

export interface RpcOptions<Request, Response> {
  broker: Broker;
  command: Command<Request, Response>;
  log: Logger;
  /** Deadlines are instants of this clock, on both sides. */
  clock?: Clock | undefined;
}
