/** The answering side of commands. */
import type { ConfirmChannel, ConsumeMessage } from 'amqplib';
import type { Logger } from 'pino';
import type { z } from 'zod';
import { type Clock, systemClock } from '../clock.ts';
import { finishesWithin } from '../mongo/backoff.ts';
import { isTraceparent, runWithTraceparent } from '../trace.ts';
import type { Broker } from './broker.ts';
import { closeChannel, stopConsuming } from './channel.ts';
import { errorText } from './failure.ts';
import type { RpcReply } from './rpc-protocol.ts';
import { declareCommandQueue, HEADER } from './topology.ts';

const PREFETCH = 20;
const CLOSE_TIMEOUT_MS = 5_000;

export interface RpcContext {
  /**
   * True when the broker handed the command out before and never heard the end of it: an earlier try, in a process that
   * died or lost its connection, may have had its effect. A handler whose effect must not happen twice answers with
   * what it recorded, or that it does not know.
   */
  redelivered: boolean;
  /** The same in every delivery of one command. */
  id: string;
  /** Nothing may be started after this instant. */
  deadline: Date;
  log: Logger;
}

export interface ServeRpcOptions<Request, Response> {
  broker: Broker;
  /** See `commandQueue`. Declared here. */
  queue: string;
  /** Commands that do not fit are refused with `invalid_request`. */
  request?: z.ZodType<Request> | undefined;
  /** Returns the outcome as a JSON value; a throw becomes the code `failed`. */
  handle(payload: Request, context: RpcContext): Promise<Response>;
  log: Logger;
  clock?: Clock | undefined;
  /** Commands handled at the same time by this process. Default 20. */
  prefetch?: number | undefined;
}

export interface RpcServer {
  /** Takes no more commands and waits up to 5 s for those at hand. */
  close(): Promise<void>;
}

/**
 * Serves the commands of `queue`. A command past its deadline is dropped unhandled. The answer is sent before the
 * command is acked. When the same command comes again while or after this process handled it, it gets the same answer
 * and is not handled again; across processes `redelivered` says so. Comes back after the broker does.
 */
export const serveRpc = async <Request = unknown, Response = unknown>(
  options: ServeRpcOptions<Request, Response>,
): Promise<RpcServer> => {
  const { broker, queue, log, prefetch = PREFETCH } = options;
  const service: Service<Request, Response> = { ...options, known: new Map() };
  const running = new Set<Promise<void>>();
  let consumerTag = '';
  const managed = await broker.openChannel(queue, async (channel) => {
    await channel.prefetch(prefetch);
    await declareCommandQueue(channel, queue);
    const reply = await channel.consume(queue, (message) => {
      if (message === null) {
        void closeChannel(channel);
        return;
      }
      const task = receive(service, channel, message).finally(() => running.delete(task));
      running.add(task);
    });
    consumerTag = reply.consumerTag;
  });
  return {
    close: async () => {
      await stopConsuming(managed.current(), consumerTag);
      const finished = await finishesWithin(Promise.all(running), CLOSE_TIMEOUT_MS);
      if (!finished) log.warn({ queue }, 'commands were still being handled at the end');
      await managed.close();
    },
  };
};

interface Service<Request, Response> extends ServeRpcOptions<Request, Response> {
  /** Answers of this process, by command id, until the command's deadline. */
  known: Map<string, { answer: Promise<Buffer>; deadlineMs: number }>;
}

/** Never rejects. */
const receive = async <Request, Response>(
  service: Service<Request, Response>,
  channel: ConfirmChannel,
  message: ConsumeMessage,
): Promise<void> => {
  const { clock = systemClock, log, queue } = service;
  const { correlationId, replyTo } = message.properties as { correlationId?: unknown; replyTo?: unknown };
  const deadlineMs: unknown = message.properties.headers?.[HEADER.deadline];
  const nowMs = clock.now().getTime();
  forgetExpired(service, nowMs);
  try {
    if (typeof correlationId !== 'string' || typeof deadlineMs !== 'number') {
      log.error({ queue }, 'a message that is not a command was dropped');
    } else if (deadlineMs <= nowMs && !service.known.has(correlationId)) {
      log.warn({ queue, command: correlationId, late_ms: nowMs - deadlineMs }, 'a late command was dropped');
    } else {
      const answer = await answerOnce(service, message, correlationId, deadlineMs);
      if (typeof replyTo === 'string') sendAnswer(channel, replyTo, correlationId, answer);
    }
    channel.ack(message);
  } catch (error) {
    log.debug({ err: error, queue }, 'the channel closed before the answer; the command comes again');
  }
};

const sendAnswer = (
  channel: ConfirmChannel,
  replyTo: string,
  correlationId: string,
  answer: Buffer,
): void => {
  channel.publish('', replyTo, answer, { correlationId, contentType: 'application/json' });
};

const forgetExpired = <Request, Response>({ known }: Service<Request, Response>, nowMs: number): void => {
  for (const [id, { deadlineMs }] of known) if (deadlineMs < nowMs) known.delete(id);
};

const answerOnce = <Request, Response>(
  service: Service<Request, Response>,
  message: ConsumeMessage,
  id: string,
  deadlineMs: number,
): Promise<Buffer> => {
  const before = service.known.get(id);
  if (before !== undefined) return before.answer;
  const traceparent: unknown = message.properties.headers?.[HEADER.traceparent];
  const answer = runWithTraceparent(isTraceparent(traceparent) ? traceparent : undefined, () =>
    perform(service, message, {
      id,
      redelivered: message.fields.redelivered,
      deadline: new Date(deadlineMs),
      log: service.log.child({ queue: service.queue, command: id }),
    }),
  );
  service.known.set(id, { answer, deadlineMs });
  return answer;
};

const perform = async <Request, Response>(
  service: Service<Request, Response>,
  message: ConsumeMessage,
  context: RpcContext,
): Promise<Buffer> => {
  try {
    const payload: unknown = JSON.parse(message.content.toString('utf8'));
    const parsed = service.request?.safeParse(payload);
    if (parsed?.success === false) {
      context.log.error({ err: parsed.error }, 'a command that does not fit its schema was refused');
      return encode({ ok: false, code: 'invalid_request', message: 'The command does not fit its schema' });
    }
    const result = await service.handle((parsed?.data ?? payload) as Request, context);
    // Here, where a result that is no JSON fails the command: later it would keep its place in the queue for ever.
    return encode({ ok: true, result });
  } catch (error) {
    context.log.error({ err: error }, 'a command failed');
    return encode({ ok: false, code: 'failed', message: errorText(error) });
  }
};

const encode = (reply: RpcReply): Buffer => Buffer.from(JSON.stringify(reply));
