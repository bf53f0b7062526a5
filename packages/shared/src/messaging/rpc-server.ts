/** The serving side of request and reply over RabbitMQ. */
import type { ConfirmChannel, ConsumeMessage } from 'amqplib';
import { systemClock } from '../kernel/clock.ts';
import type { Logger } from '../kernel/log.ts';
import { finishesWithin } from '../kernel/timing.ts';
import { inSpan } from '../kernel/trace.ts';
import { closeChannel, stopConsuming } from './channel.ts';
import { errorText } from './retry.ts';
import type { Reply, RpcOptions } from './rpc.ts';
import { messageSpan } from './spans.ts';
import { commandQueue, commandsExchange, declareCommandQueue, HEADER } from './topology.ts';

/** Commands handled at the same time by one process. */
const PREFETCH = 20;
const CLOSE_TIMEOUT_MS = 5_000;

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
