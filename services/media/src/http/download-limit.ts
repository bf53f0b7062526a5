/** Limits on downloads: slow readers hold a bounded number of files and connections, each for a bounded time. */
import type { RawReply } from '@fitness/shared/http/define-route.ts';
import { MINUTE_MS, SECOND_MS } from '@fitness/shared/kernel/clock.ts';
import { unavailable } from '@fitness/shared/kernel/error.ts';

export interface DownloadLimits {
  /** Downloads at once in this process. */
  max: number;
  /** A client that reads nothing for this long is disconnected. */
  stalledMs: number;
  /** A download that takes longer is ended; its client can continue it by a range. */
  deadlineMs: number;
  /** A download is slow when it had less than `minBytesPerS` in the last complete period of this length. */
  slowMs: number;
  minBytesPerS: number;
}

/** A file and a connection each, and some ten KiB of buffers: the rest of the service is not affected. */
export const DOWNLOAD_LIMITS: DownloadLimits = {
  max: 1_000,
  stalledMs: MINUTE_MS,
  deadlineMs: 15 * MINUTE_MS,
  slowMs: 10 * SECOND_MS,
  minBytesPerS: 16 * 1024,
};

/**
 * Counts `send` as a download until its response is closed. When there are as many as allowed, the slowest one is ended,
 * so that slow clients cannot keep out others. Throws `unavailable` when none is slow.
 */
export type LimitDownload = (reply: Pick<RawReply, 'raw'>, send: () => Promise<void>) => Promise<void>;

interface Download {
  /** In the last complete period; unlimited during the first one. */
  progressBytes: number;
  end(): void;
}

export const createDownloadLimit = (limits: DownloadLimits): LimitDownload => {
  const { max, stalledMs, deadlineMs, slowMs, minBytesPerS } = limits;
  const minProgressBytes = (minBytesPerS * slowMs) / SECOND_MS;
  /** The oldest first. */
  const underWay = new Set<Download>();

  const endSlowest = (): void => {
    let slowest: Download | undefined;
    for (const download of underWay) {
      if (download.progressBytes < (slowest?.progressBytes ?? minProgressBytes)) slowest = download;
    }
    if (slowest === undefined) throw unavailable('downloads: as many as allowed are under way');
    underWay.delete(slowest);
    slowest.end();
  };

  return async ({ raw }, send) => {
    const { socket } = raw;
    // The client disconnected: there will be no event that ends the download.
    if (raw.destroyed || socket === null) return;
    if (underWay.size >= max) endSlowest();
    const download: Download = {
      progressBytes: Number.POSITIVE_INFINITY,
      end: () => void raw.destroy(),
    };
    underWay.add(download);
    let sentBytes = socket.bytesWritten;
    const measuring = setInterval(() => {
      download.progressBytes = socket.bytesWritten - sentBytes;
      sentBytes = socket.bytesWritten;
    }, slowMs);
    const late = setTimeout(download.end, deadlineMs);
    raw.once('close', () => {
      clearInterval(measuring);
      clearTimeout(late);
      underWay.delete(download);
    });
    raw.setTimeout(stalledMs, download.end);
    await send();
  };
};
