/** The calling side of request and reply over RabbitMQ. */
import { randomUUID } from 'node:crypto';
import type { ConfirmChannel, ConsumeMessage } from 'amqplib';
import type { z } from 'zod';
import { systemClock } from '../kernel/clock.ts';
import { remainingMs } from '../kernel/request-scope.ts';
import { currentTraceparent, inSpan } from '../kernel/trace.ts';
import { closeChannel } from './channel.ts';
import { PublishUnconfirmedError, publishConfirmed } from './publish.ts';
import { RpcNotSentError, type RpcOptions, RpcRemoteError, RpcTimeoutError, replySchema } from './rpc.ts';
import { messageSpan } from './spans.ts';
import { commandQueue, commandsExchange, declareReplyQueue, HEADER, replyQueue } from './topology.ts';

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

type PendingCalls = Map<string, PendingCall>;

/** Opens a channel for commands and their replies. */
const openReplies = async <Request, Response>(
  { broker, command, log }: RpcOptions<Request, Response>,
  pending: PendingCalls,
) => {
  const { namespace, topology } = broker;
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

  const managed = await broker.openChannel(
    `${commandQueue(namespace, command.name)} replies`,
    async (channel) => {
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
    },
  );

  return {
    /** The channel for the next command, and the queue of its replies; undefined without a connection. */
    current: () => {
      const channel = managed.current();
      const replyTo = channel && replyQueues.get(channel);
      return channel === undefined || replyTo === undefined ? undefined : { channel, replyTo };
    },
    close: () => managed.close(),
  };
};

/** The calling side. Resolves when it can receive replies. */
export const createRpcClient = async <Request, Response>(
  options: RpcOptions<Request, Response>,
): Promise<RpcClient<Request, Response>> => {
  const { broker, command, clock = systemClock } = options;
  const queue = commandQueue(broker.namespace, command.name);
  const exchange = commandsExchange(broker.namespace);
  const pending: PendingCalls = new Map();
  const replies = await openReplies(options, pending);
  return {
    call: async (payload, longestMs) => {
      const timeoutMs = Math.min(longestMs, remainingMs());
      if (timeoutMs <= 0) throw new RpcNotSentError('The deadline of the request has passed');
      const content = Buffer.from(JSON.stringify(command.request.parse(payload)));
      const current = replies.current();
      if (current === undefined) throw new RpcNotSentError('RabbitMQ is not connected');
      const { channel, replyTo } = current;
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
    close: replies.close,
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
