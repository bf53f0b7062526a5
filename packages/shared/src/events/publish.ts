/** One publish: sent, confirmed, and known to have reached a queue or not. */
import type { ConfirmChannel, Message, Options } from 'amqplib';

const CONFIRM_TIMEOUT_MS = 10_000;
const PUBLISH_ID = 'x-publish-id';

/** There is no connection: nothing was sent. */
export class BrokerUnavailableError extends Error {
  override name = 'BrokerUnavailableError';
  constructor(cause?: unknown) {
    super('RabbitMQ is not connected', cause === undefined ? undefined : { cause });
  }
}

/** The broker said that it did not take the message. */
class PublishRejectedError extends Error {
  override name = 'PublishRejectedError';
}

/** The answer never came: the message may or may not be in the queue. */
export class PublishUnconfirmedError extends Error {
  override name = 'PublishUnconfirmedError';
}

/** Numbers of messages that came back because no queue is bound for them. */
const returnsOf = new WeakMap<ConfirmChannel, Set<number>>();
let lastPublishId = 0;

const returnedOn = (channel: ConfirmChannel): Set<number> => {
  const known = returnsOf.get(channel);
  if (known !== undefined) return known;
  const returned = new Set<number>();
  returnsOf.set(channel, returned);
  channel.on('return', (message: Message) => {
    const id: unknown = message.properties.headers?.[PUBLISH_ID];
    if (typeof id === 'number') returned.add(id);
  });
  return returned;
};

/**
 * Publishes one persistent, mandatory message and waits for its confirm, at most 10 s. The broker sends a message that
 * it cannot route back before it confirms it, so both are known together. Errors as `Broker.publish` says.
 */
export const publishConfirmed = (
  channel: ConfirmChannel | undefined,
  exchange: string,
  routingKey: string,
  content: Buffer,
  options: Options.Publish = {},
): Promise<{ routed: boolean }> => {
  if (channel === undefined) return Promise.reject(new BrokerUnavailableError());
  const returned = returnedOn(channel);
  lastPublishId += 1;
  const publishId = lastPublishId;
  return new Promise((resolve, reject) => {
    const late = setTimeout(() => {
      reject(new PublishUnconfirmedError('The confirm did not come in time'));
    }, CONFIRM_TIMEOUT_MS);
    const settle = (error: unknown): void => {
      clearTimeout(late);
      const unrouted = returned.delete(publishId);
      if (error === null || error === undefined) resolve({ routed: !unrouted });
      else reject(publishError(error));
    };
    const message = {
      persistent: true,
      mandatory: true,
      ...options,
      headers: { ...(options.headers as Record<string, unknown> | undefined), [PUBLISH_ID]: publishId },
    };
    try {
      channel.publish(exchange, routingKey, content, message, settle);
    } catch (error) {
      clearTimeout(late);
      reject(isClosedChannel(error) ? new BrokerUnavailableError(error) : error);
    }
  });
};

/** The library's only two outcomes besides a confirm: a refusal, or the end of the channel. */
const publishError = (error: unknown): Error => {
  const text = error instanceof Object && 'message' in error ? String(error.message) : String(error);
  if (text === 'message nacked') return new PublishRejectedError('RabbitMQ refused the message');
  return new PublishUnconfirmedError('The channel closed before the confirm', { cause: error });
};

const isClosedChannel = (error: unknown): boolean =>
  (error as { name?: unknown }).name === 'IllegalOperationError';
