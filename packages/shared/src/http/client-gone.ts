import type { RawReply } from './define-route.ts';

/** Aborted when the client has gone before the response is complete: nobody waits for further work. */
export const clientGone = ({ raw }: RawReply): AbortSignal => {
  const controller = new AbortController();
  const abort = (): void => {
    if (!raw.writableFinished) controller.abort();
  };
  if (raw.closed) abort();
  else raw.once('close', abort);
  return controller.signal;
};
