/** Limits for downloads. Slow readers hold a limited number of files and connections, each for a limited time. */
import { once } from 'node:events';
import type { Socket } from 'node:net';
import type { RawReply } from '@fitness/shared/http/define-route.ts';
import { MINUTE_MS, SECOND_MS } from '@fitness/shared/kernel/clock.ts';
import { unavailable } from '@fitness/shared/kernel/error.ts';

export interface DownloadLimits {
  /** Maximum number of concurrent downloads in this process. */
  max: number;
  /** A client that reads nothing for this long is disconnected. */
  stalledMs: number;
  /** A download that takes longer is ended. Its client can continue it with a range. */
  deadlineMs: number;
  /** A download is slow when it transferred less than `minBytesPerS` in the last complete period of this length. */
  slowMs: number;
  minBytesPerS: number;
}

/** Each download takes a file, a connection and some ten KiB of buffers, so the rest of the service is not affected. */
export const DOWNLOAD_LIMITS: DownloadLimits = {
  max: 1_000,
  stalledMs: MINUTE_MS,
  deadlineMs: 15 * MINUTE_MS,
  slowMs: 10 * SECOND_MS,
  minBytesPerS: 16 * 1024,
};

/**
 * Counts `send` as a download until its response is closed. At the limit, the slowest download is ended, so slow clients cannot
 * keep out others. Throws `unavailable` when none is slow.
 */
export type LimitDownload = (reply: Pick<RawReply, 'raw'>, send: () => Promise<void>) => Promise<void>;

interface Download {
  /** Bytes in the last complete period. Infinite during the first one. */
  progressBytes: number;
  end(): void;
}

/**
 * A client may send a request before the previous response has ended, whose connection the new response gets only then. Null if the
 * client disconnects.
 */
const connectionOf = async (response: RawReply['raw']): Promise<Socket | null> => {
  const { socket } = response.req;
  if (response.socket === null && !socket.destroyed) {
    const waiting = new AbortController();
    const { signal } = waiting;
    await Promise.race([once(response, 'socket', { signal }), once(socket, 'close', { signal })]);
    waiting.abort();
  }
  return response.socket;
};

export const createDownloadLimit = (limits: DownloadLimits): LimitDownload => {
  const { max, stalledMs, deadlineMs, slowMs, minBytesPerS } = limits;
  const minProgressBytes = (minBytesPerS * slowMs) / SECOND_MS;
  /** Downloads under way, the oldest first. */
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
    const socket = await connectionOf(raw);
    // The client has disconnected, so no event will end the download.
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
