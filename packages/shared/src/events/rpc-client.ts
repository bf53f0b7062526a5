/** The asking side of commands. */
import { randomUUID } from 'node:crypto';
import type { ConfirmChannel, ConsumeMessage } from 'amqplib';
import type { Logger } from 'pino';
import type { z } from 'zod';
import { type Clock, systemClock } from '../clock.ts';
import { childTraceparent, currentTraceparent } from '../trace.ts';
import { type Broker, PublishUnconfirmedError } from './broker.ts';
import { publishConfirmed } from './publish.ts';
import { RpcNotSentError, RpcRemoteError, RpcTimeoutError, replySchema } from './rpc-protocol.ts';
import { HEADER } from './topology.ts';

/** The broker routes what is sent to it straight back to the channel that asked, without a queue. */
const REPLY_TO = 'amq.rabbitmq.reply-to';

export interface RpcClientOptions {
  broker: Broker;
  /** See `commandQueue`. The answering side declares it. */
  queue: string;
  log: Logger;
  /** The deadline is an instant of this clock; both sides use the same. */
  clock?: Clock | undefined;
}

export interface RpcClient {
  /**
   * Sends `payload` and waits for the answer. Rejects with
   * {@link RpcNotSentError} when it definitely did not reach the queue: no connection, refused, or nobody ever served it;
   * {@link RpcTimeoutError} when the outcome is unknown: no answer within `timeoutMs`, or the connection broke meanwhile;
   * {@link RpcRemoteError} when the other side failed. The command is never handled later than `timeoutMs` from now.
   */
  call<Request, Response>(
    requestSchema: z.ZodType<Request>,
    responseSchema: z.ZodType<Response>,
    payload: NoInfer<Request>,
    options: { timeoutMs: number },
  ): Promise<Response>;
  close(): Promise<void>;
}

interface Pending {
  channel: ConfirmChannel;
  answer(content: Buffer): void;
  fail(error: Error): void;
}

/** A client of one command queue. Resolves when it can receive answers. */
export const createRpcClient = async (options: RpcClientOptions): Promise<RpcClient> => {
  const { broker, queue, log, clock = systemClock } = options;
  const pending = new Map<string, Pending>();
  const managed = await broker.openChannel(`${queue} answers`, async (channel) => {
    channel.on('close', () => abandon(pending, channel));
    await channel.consume(REPLY_TO, (message) => takeAnswer(pending, message, log), { noAck: true });
  });
  return {
    call: async (requestSchema, responseSchema, payload, { timeoutMs }) => {
      const content = Buffer.from(JSON.stringify(requestSchema.parse(payload)));
      const channel = managed.current();
      if (channel === undefined) throw new RpcNotSentError('RabbitMQ is not connected');
      const deadlineMs = clock.now().getTime() + timeoutMs;
      const answer = await ask({ channel, queue, content, timeoutMs, deadlineMs, pending });
      return readAnswer(answer, responseSchema);
    },
    close: () => managed.close(),
  };
};

/** Direct replies go to the channel that asked: once it is gone they can no longer arrive. */
const abandon = (pending: Map<string, Pending>, channel: ConfirmChannel): void => {
  for (const [id, entry] of pending) {
    if (entry.channel !== channel) continue;
    pending.delete(id);
    entry.fail(new RpcTimeoutError('The connection broke before the answer'));
  }
};

const takeAnswer = (pending: Map<string, Pending>, message: ConsumeMessage | null, log: Logger): void => {
  const id: unknown = message?.properties.correlationId;
  const entry = typeof id === 'string' ? pending.get(id) : undefined;
  if (message === null || entry === undefined) {
    log.debug({ correlation_id: id }, 'an answer came too late');
    return;
  }
  entry.answer(message.content);
};

interface Question {
  channel: ConfirmChannel;
  queue: string;
  content: Buffer;
  timeoutMs: number;
  deadlineMs: number;
  pending: Map<string, Pending>;
}

const ask = async ({
  channel,
  queue,
  content,
  timeoutMs,
  deadlineMs,
  pending,
}: Question): Promise<Buffer> => {
  const id = randomUUID();
  const answer = Promise.withResolvers<Buffer>();
  pending.set(id, { channel, answer: answer.resolve, fail: answer.reject });
  const late = setTimeout(() => {
    answer.reject(new RpcTimeoutError(`No answer within ${timeoutMs} ms`));
  }, timeoutMs);
  const message = {
    replyTo: REPLY_TO,
    correlationId: id,
    messageId: id,
    contentType: 'application/json',
    // The broker drops what nobody took in time.
    expiration: String(Math.max(0, Math.trunc(timeoutMs))),
    headers: { [HEADER.deadline]: deadlineMs, [HEADER.traceparent]: childTraceparent(currentTraceparent()) },
  };
  publishConfirmed(channel, '', queue, content, message).then(
    ({ routed }) => {
      if (!routed) answer.reject(new RpcNotSentError(`The queue ${queue} does not exist`));
    },
    (error: unknown) => answer.reject(sendFailure(error)),
  );
  try {
    return await answer.promise;
  } finally {
    clearTimeout(late);
    pending.delete(id);
  }
};

const sendFailure = (error: unknown): Error =>
  error instanceof PublishUnconfirmedError
    ? new RpcTimeoutError('The connection broke before the confirm', { cause: error })
    : new RpcNotSentError('The command was not taken by RabbitMQ', { cause: error });

const readAnswer = <Response>(content: Buffer, schema: z.ZodType<Response>): Response => {
  const reply = replySchema.safeParse(parseJson(content));
  if (!reply.success) throw new RpcRemoteError('invalid_response', 'The answer is not a reply');
  if (!reply.data.ok) throw new RpcRemoteError(reply.data.code, reply.data.message);
  const result = schema.safeParse(reply.data.result);
  if (result.success) return result.data;
  throw new RpcRemoteError('invalid_response', 'The answer does not fit its schema');
};

const parseJson = (content: Buffer): unknown => {
  try {
    return JSON.parse(content.toString('utf8'));
  } catch {
    return undefined;
  }
};
