/** Publishes one message and reports whether it was confirmed and reached a queue. */
import type { ConfirmChannel, Message, Options } from 'amqplib';

const CONFIRM_TIMEOUT_MS = 10_000;
const PUBLISH_ID = 'x-publish-id';

/** Nothing was sent: there is no connection. */
export class BrokerUnavailableError extends Error {
  override name = 'BrokerUnavailableError';
  constructor(cause?: unknown) {
    super('RabbitMQ is not connected', cause === undefined ? undefined : { cause });
  }
}

/** The broker refused the message. */
class PublishRejectedError extends Error {
  override name = 'PublishRejectedError';
}

/** No confirm arrived: the message may or may not be in the queue. */
export class PublishUnconfirmedError extends Error {
  override name = 'PublishUnconfirmedError';
}

/** Publish ids of unroutable messages that the broker has returned. */
const returnedByChannel = new WeakMap<ConfirmChannel, Set<number>>();
let lastPublishId = 0;

const returnedOn = (channel: ConfirmChannel): Set<number> => {
  const existing = returnedByChannel.get(channel);
  if (existing !== undefined) return existing;
  const returned = new Set<number>();
  returnedByChannel.set(channel, returned);
  channel.on('return', (message: Message) => {
    const id: unknown = message.properties.headers?.[PUBLISH_ID];
    if (typeof id === 'number') returned.add(id);
  });
  return returned;
};

/**
 * Publishes one persistent, mandatory message and waits for its confirm, at most 10 s. The broker returns an unroutable
 * message before it confirms it, so `routed` is known with the confirm. Errors: see `Broker.publish`.
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
    const timer = setTimeout(() => {
      reject(new PublishUnconfirmedError('The confirm did not come in time'));
    }, CONFIRM_TIMEOUT_MS);
    const settle = (error: unknown): void => {
      clearTimeout(timer);
      const unroutable = returned.delete(publishId);
      if (error === null || error === undefined) resolve({ routed: !unroutable });
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
      clearTimeout(timer);
      reject(isClosedChannel(error) ? new BrokerUnavailableError(error) : error);
    }
  });
};

/** Instead of a confirm, amqplib may report a refusal or the end of the channel. */
const publishError = (error: unknown): Error => {
  const text = error instanceof Object && 'message' in error ? String(error.message) : String(error);
  if (text === 'message nacked') return new PublishRejectedError('RabbitMQ refused the message');
  return new PublishUnconfirmedError('The channel closed before the confirm', { cause: error });
};

const isClosedChannel = (error: unknown): boolean =>
  (error as { name?: unknown }).name === 'IllegalOperationError';
