/** Stops work for a client that has disconnected. */
import type { RawReply } from './define-route.ts';

/** Aborted when the client disconnects before the response is complete. */
export const disconnectSignal = ({ raw }: RawReply): AbortSignal => {
  const controller = new AbortController();
  const abort = (): void => {
    if (!raw.writableFinished) controller.abort();
  };
  if (raw.closed) abort();
  else raw.once('close', abort);
  return controller.signal;
};
