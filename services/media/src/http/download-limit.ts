/** Limits on downloads: slow readers hold a bounded number of files and connections, each for a bounded time. */
import type { RawReply } from '@fitness/shared/http/define-route.ts';
import { MINUTE_MS } from '@fitness/shared/kernel/clock.ts';
import { unavailable } from '@fitness/shared/kernel/error.ts';

export interface DownloadLimits {
  /** Downloads at once in this process. */
  max: number;
  /** A client that reads nothing for this long is disconnected. */
  stalledMs: number;
  /** A download that takes longer is ended; its client can continue it by a range. */
  deadlineMs: number;
}

/** A file and a connection each, and at most some hundred KiB of buffers: the rest of the service is not affected. */
export const DOWNLOAD_LIMITS: DownloadLimits = {
  max: 500,
  stalledMs: MINUTE_MS,
  deadlineMs: 15 * MINUTE_MS,
};

/** Counts `send` as a download until its response is closed. Throws `unavailable` when there are as many as allowed. */
export type LimitDownload = (reply: RawReply, send: () => Promise<void>) => Promise<void>;

export const createDownloadLimit = ({ max, stalledMs, deadlineMs }: DownloadLimits): LimitDownload => {
  let underWay = 0;
  return async ({ raw }, send) => {
    // The client disconnected: there will be no event that ends the download.
    if (raw.destroyed) return;
    if (underWay >= max) throw unavailable('downloads: as many as allowed are under way');
    underWay += 1;
    const end = (): void => void raw.destroy();
    const late = setTimeout(end, deadlineMs);
    raw.once('close', () => {
      clearTimeout(late);
      underWay -= 1;
    });
    raw.setTimeout(stalledMs, end);
    await send();
  };
};
