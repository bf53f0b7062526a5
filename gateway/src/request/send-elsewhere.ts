/** Sends a request to another replica if one cannot respond. */
import { Readable } from 'node:stream';
import type { Dispatcher } from 'undici';

const TRIES = 4;
const RETRY_DELAY_MS = 50;

/** Code of a request to a replica that has become silent. */
const NO_RESPONSE = 'NO_RESPONSE';

export const noResponse = (): Error =>
  Object.assign(new Error('the replica does not respond'), { code: NO_RESPONSE });

/** Codes of failed and lost connections. */
const LOST = new Set([
  ...['ECONNREFUSED', 'ECONNRESET', 'EPIPE', 'ETIMEDOUT', 'EHOSTUNREACH', 'ENETUNREACH'],
  ...['UND_ERR_CONNECT_TIMEOUT', 'UND_ERR_SOCKET', NO_RESPONSE],
]);

export const passedOn = (handler: Dispatcher.DispatchHandler): Dispatcher.DispatchHandler => ({
  onRequestStart: (...args) => handler.onRequestStart?.(...args),
  onRequestUpgrade: (...args) => handler.onRequestUpgrade?.(...args),
  onResponseStart: (...args) => handler.onResponseStart?.(...args),
  onResponseData: (...args) => handler.onResponseData?.(...args),
  onResponseEnd: (...args) => handler.onResponseEnd?.(...args),
  onResponseError: (...args) => handler.onResponseError?.(...args),
});

/** Whether a request may be sent again after it was sent; by default, whether it reads. */
export const isRepeatable = ({ idempotent, method }: Dispatcher.DispatchOptions): boolean =>
  idempotent ?? (method === 'GET' || method === 'HEAD');

/**
 * A request that was not sent at all goes to another replica, whatever its method. A repeatable request that was sent and got no
 * response is repeated once.
 */
export const sendElsewhere: Dispatcher.DispatcherComposeInterceptor = (dispatch) => (options, handler) => {
  let tries = 0;
  let isSent = false;
  let hasResponse = false;
  let mayRepeat = isRepeatable(options);
  const send = (): boolean => {
    tries += 1;
    return dispatch(options, attempt);
  };
  const attempt: Dispatcher.DispatchHandler = {
    ...passedOn(handler),
    onRequestStart: (controller, context) => {
      isSent = true;
      handler.onRequestStart?.(controller, context);
    },
    onResponseStart: (...args) => {
      hasResponse = true;
      handler.onResponseStart?.(...args);
    },
    onResponseError: (controller, error: Error & { code?: string }) => {
      const isLost = !hasResponse && LOST.has(error.code ?? '');
      if (!isLost || tries >= TRIES || (isSent && !mayRepeat)) {
        handler.onResponseError?.(controller, error);
        return;
      }
      mayRepeat &&= !isSent;
      isSent = false;
      setTimeout(send, RETRY_DELAY_MS);
    },
  };
  // Between two attempts, nothing else listens for errors of the body.
  if (options.body instanceof Readable) options.body.on('error', () => undefined);
  return send();
};
