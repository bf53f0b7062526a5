/**
 * Request and reply over RabbitMQ, as the SMS command needs it. The RPC packages for amqplib limit only how long the
 * caller waits. Here a command must never be handled after its deadline, and a redelivered one never twice.
 */
import { randomUUID } from 'node:crypto';
import type { ConfirmChannel, ConsumeMessage } from 'amqplib';
import { z } from 'zod';
import { type Clock, systemClock } from '../kernel/clock.ts';
import type { Logger } from '../kernel/log.ts';
import { remainingMs } from '../kernel/request-scope.ts';
import { finishesWithin } from '../kernel/timing.ts';
import { currentTraceparent, inSpan } from '../kernel/trace.ts';
import type { Broker } from './broker.ts';
import { closeChannel, stopConsuming } from './channel.ts';
import { PublishUnconfirmedError, publishConfirmed } from './publish.ts';
import { errorText } from './retry.ts';
import { messageSpan } from './spans.ts';
import {
  commandQueue,
  commandsExchange,
  declareCommandQueue,
  declareReplyQueue,
  HEADER,
  replyQueue,
} from './topology.ts';

/** Commands handled at the same time by one process. */
const PREFETCH = 20;
const CLOSE_TIMEOUT_MS = 5_000;

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
class RpcTimeoutError extends Error {
  override name = 'RpcTimeoutError';
}

const replySchema = z.discriminatedUnion('ok', [
  z.object({ ok: z.literal(true), result: z.unknown() }),
  z.object({ ok: z.literal(false), code: z.enum(['invalid_request', 'failed']), message: z.string() }),
]);

type Reply = z.output<typeof replySchema>;

/**
 * The server failed. `invalid_request`: it did not handle the command. `invalid_response`: its reply does not fit.
 * `failed`: the handler threw, and may have had its effect; a handler returns the outcomes that it knows as values.
 */
class RpcRemoteError extends Error {
  override name = 'RpcRemoteError';
  readonly code: 'invalid_request' | 'invalid_response' | 'failed';
  constructor(code: RpcRemoteError['code'], text: string) {
    super(text);
    this.code = code;
  }
}

interface RpcOptions<Request, Response> {
  broker: Broker;
  command: Command<Request, Response>;
  log: Logger;
  /** Deadlines are instants of this clock, on both sides. */
  clock?: Clock | undefined;
}

export interface RpcClient<Request, Response> {
  /**
   * Sends the command and waits for its reply. The command is never handled later than `timeoutMs` from now, nor after the
   * deadline of the request. Rejects with:
   * - {@link RpcNotSentError}: no connection, refused, the queue was never declared, or the request's deadline has passed;
   * - {@link RpcTimeoutError}: no reply within `timeoutMs`, or the connection broke;
   * - {@link RpcRemoteError}: the server failed.
   */
  call(payload: Request, timeoutMs: number): Promise<Response>;
  close(): Promise<void>;
}

interface PendingCall {
  channel: ConfirmChannel;
  reply: PromiseWithResolvers<Buffer>;
}

/** The calling side. Resolves when it can receive replies. */
export const createRpcClient = async <Request, Response>({
  broker,
  command,
  log,
  clock = systemClock,
}: RpcOptions<Request, Response>): Promise<RpcClient<Request, Response>> => {
  const { namespace, topology } = broker;
  const queue = commandQueue(namespace, command.name);
  const exchange = commandsExchange(namespace);
  const pending = new Map<string, PendingCall>();
  /** The queue of the replies to commands of this channel. */
  const replyQueues = new WeakMap<ConfirmChannel, string>();

  const takeReply = (message: ConsumeMessage): void => {
    const id: unknown = message.properties.correlationId;
    const call = typeof id === 'string' ? pending.get(id) : undefined;
    if (call === undefined) log.debug({ correlation_id: id }, 'a reply came too late');
    else call.reply.resolve(message.content);
  };

  /** Replies go to the channel that sent the command: when it is closed they can no longer arrive. */
  const abandon = (channel: ConfirmChannel): void => {
    for (const call of pending.values())
      if (call.channel === channel)
        call.reply.reject(new RpcTimeoutError('The connection broke before the reply'));
  };

  const managed = await broker.openChannel(`${queue} replies`, async (channel) => {
    channel.on('close', () => abandon(channel));
    // A queue and not RabbitMQ's direct replies: these go by the default exchange, which leads to the queues of all services.
    const replies = replyQueue(namespace, command.name, randomUUID());
    await declareReplyQueue(channel, namespace, replies, topology);
    const take = (message: ConsumeMessage | null): void => {
      // The queue was deleted: a new channel declares another one.
      if (message === null) void closeChannel(channel);
      else takeReply(message);
    };
    await channel.consume(replies, take, { noAck: true });
    replyQueues.set(channel, replies);
  });

  return {
    call: async (payload, longestMs) => {
      const timeoutMs = Math.min(longestMs, remainingMs());
      if (timeoutMs <= 0) throw new RpcNotSentError('The deadline of the request has passed');
      const content = Buffer.from(JSON.stringify(command.request.parse(payload)));
      const channel = managed.current();
      const replyTo = channel && replyQueues.get(channel);
      if (channel === undefined || replyTo === undefined) {
        throw new RpcNotSentError('RabbitMQ is not connected');
      }
      const id = randomUUID();
      const reply = Promise.withResolvers<Buffer>();
      pending.set(id, { channel, reply });
      const timer = setTimeout(
        () => reply.reject(new RpcTimeoutError(`No reply within ${timeoutMs} ms`)),
        timeoutMs,
      );
      const deadlineMs = clock.now().getTime() + timeoutMs;
      const exchangeMessages = async (): Promise<Buffer> => {
        send(channel, exchange, queue, content, { id, replyTo, timeoutMs, deadlineMs }).catch(reply.reject);
        return reply.promise;
      };
      try {
        const span = messageSpan('client', 'send', queue, currentTraceparent());
        return readReply(await inSpan(...span, exchangeMessages), command.response);
      } finally {
        clearTimeout(timer);
        pending.delete(id);
      }
    },
    close: () => managed.close(),
  };
};

interface SentCommand {
  id: string;
  replyTo: string;
  timeoutMs: number;
  deadlineMs: number;
}

/** Resolves when the queue has the command. */
const send = async (
  channel: ConfirmChannel,
  exchange: string,
  queue: string,
  content: Buffer,
  { id, replyTo, timeoutMs, deadlineMs }: SentCommand,
): Promise<void> => {
  const sent = publishConfirmed(channel, exchange, queue, content, {
    replyTo,
    correlationId: id,
    messageId: id,
    contentType: 'application/json',
    // The broker drops a command that no server took in time.
    expiration: String(Math.max(0, Math.trunc(timeoutMs))),
    headers: { [HEADER.deadline]: deadlineMs, [HEADER.traceparent]: currentTraceparent() },
  });
  const { routed } = await sent.catch((cause: unknown) => {
    throw cause instanceof PublishUnconfirmedError
      ? new RpcTimeoutError('The connection broke before the confirm', { cause })
      : new RpcNotSentError('RabbitMQ did not take the command', { cause });
  });
  if (!routed) throw new RpcNotSentError(`The queue ${queue} does not exist`);
};

const readReply = <Response>(content: Buffer, schema: z.ZodType<Response>): Response => {
  const reply = replySchema.safeParse(parseJson(content));
  if (!reply.success) throw new RpcRemoteError('invalid_response', 'The message is not a reply');
  if (!reply.data.ok) throw new RpcRemoteError(reply.data.code, reply.data.message);
  const result = schema.safeParse(reply.data.result);
  if (result.success) return result.data;
  throw new RpcRemoteError('invalid_response', 'The reply does not fit its schema');
};

const parseJson = (content: Buffer): unknown => {
  try {
    return JSON.parse(content.toString('utf8'));
  } catch {
    return undefined;
  }
};

interface ServeRpcOptions<Request, Response> extends RpcOptions<Request, Response> {
  /**
   * Returns the outcome as a JSON value; a throw becomes the code `failed`. `redelivered`: an earlier delivery, in a
   * process that died or lost its connection, may have had its effect.
   */
  handle: (payload: Request, delivery: { redelivered: boolean }) => Promise<Response>;
}

export interface RpcServer {
  /** Takes no more commands and waits up to 5 s for the running ones. */
  close(): Promise<void>;
}

/**
 * Declares the command's queue and serves it. A command past its deadline is dropped. The reply is sent before the command
 * is acked. A command that this process has handled already gets the same reply and is not handled again; a command
 * that another process may have handled has `redelivered` set.
 */
export const serveRpc = async <Request, Response>(
  options: ServeRpcOptions<Request, Response>,
): Promise<RpcServer> => {
  const { broker, command, log } = options;
  const queue = commandQueue(broker.namespace, command.name);
  const receive = createReceive({ ...options, log: log.child({ queue }) });
  const running = new Set<Promise<void>>();
  let consumerTag = '';
  const managed = await broker.openChannel(queue, async (channel) => {
    await channel.prefetch(PREFETCH);
    await declareCommandQueue(channel, broker.namespace, command.name, broker.topology);
    const { consumerTag: tag } = await channel.consume(queue, (message) => {
      if (message === null) {
        // The queue was deleted: a new channel declares it again.
        void closeChannel(channel);
        return;
      }
      const task = receive(channel, message).finally(() => running.delete(task));
      running.add(task);
    });
    consumerTag = tag;
  });
  return {
    close: async () => {
      await stopConsuming(managed.current(), consumerTag);
      const finished = await finishesWithin(Promise.all(running), CLOSE_TIMEOUT_MS);
      if (!finished) log.warn({ queue }, 'commands were still running when the server closed');
      await managed.close();
    },
  };
};

/** Handles one delivery and acks it at the end. Never rejects. */
const createReceive = <Request, Response>(options: ServeRpcOptions<Request, Response>) => {
  const { broker, command, clock = systemClock, log } = options;
  const exchange = commandsExchange(broker.namespace);
  const queue = commandQueue(broker.namespace, command.name);
  /** Replies of this process by command id, until the command's deadline. */
  const replies = new Map<string, { reply: Promise<Buffer>; deadlineMs: number }>();

  const replyOnce = (message: ConsumeMessage, id: string, deadlineMs: number): Promise<Buffer> => {
    const pending = replies.get(id);
    if (pending !== undefined) return pending.reply;
    const traceparent: unknown = message.properties.headers?.[HEADER.traceparent];
    const span = messageSpan('server', 'process', queue, traceparent as string | undefined);
    const reply = inSpan(...span, () => perform(options, message, log.child({ command: id })));
    replies.set(id, { reply, deadlineMs });
    return reply;
  };

  return async (channel: ConfirmChannel, message: ConsumeMessage): Promise<void> => {
    const { correlationId: id, replyTo } = message.properties as {
      correlationId?: unknown;
      replyTo?: unknown;
    };
    const deadlineMs: unknown = message.properties.headers?.[HEADER.deadline];
    const nowMs = clock.now().getTime();
    for (const [commandId, { deadlineMs: end }] of replies) if (end < nowMs) replies.delete(commandId);
    try {
      if (typeof id !== 'string' || typeof deadlineMs !== 'number') {
        log.error('a message that is not a command was dropped');
      } else if (deadlineMs <= nowMs && !replies.has(id)) {
        log.warn({ command: id, late_ms: nowMs - deadlineMs }, 'a late command was dropped');
      } else {
        const reply = await replyOnce(message, id, deadlineMs);
        const properties = { correlationId: id, contentType: 'application/json' };
        if (typeof replyTo === 'string') channel.publish(exchange, replyTo, reply, properties);
      }
      channel.ack(message);
    } catch (error) {
      log.debug({ err: error }, 'the channel closed before the reply; the command is delivered again');
    }
  };
};

const perform = async <Request, Response>(
  { command, handle }: ServeRpcOptions<Request, Response>,
  message: ConsumeMessage,
  log: Logger,
): Promise<Buffer> => {
  try {
    const payload = command.request.safeParse(JSON.parse(message.content.toString('utf8')));
    if (!payload.success) {
      log.error({ err: payload.error }, 'a command that does not fit its schema was refused');
      return encode({ ok: false, code: 'invalid_request', message: 'The command does not fit its schema' });
    }
    const result = await handle(payload.data, { redelivered: message.fields.redelivered });
    // Encoded inside the try: a result that is not JSON must fail the command, or it would never be acked.
    return encode({ ok: true, result });
  } catch (error) {
    log.error({ err: error }, 'a command failed');
    return encode({ ok: false, code: 'failed', message: errorText(error) });
  }
};

const encode = (reply: Reply): Buffer => Buffer.from(JSON.stringify(reply));
