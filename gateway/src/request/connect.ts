/** Connections to the services: encrypted and mutually authenticated where certificates are configured. */
import type { OnReadOpts, Socket } from 'node:net';
import type { ProcessTls } from '@fitness/shared/process-identity/process-tls.ts';
import { buildConnector } from 'undici';

/** What one read of the socket of a download takes at most. */
export const PIECE_BYTES = 8 * 1024;

interface ConnectOptions {
  tls: ProcessTls | undefined;
  timeoutMs: number;
}

type Connect = buildConnector.connector;

/** A new certificate is used by new connections, and with it no session that was begun with the old one. */
export const createConnect = (options: ConnectOptions): Connect => {
  let connect = buildConnector(toBuild(options));
  options.tls?.onRenewal(() => {
    connect = buildConnector(toBuild(options));
  });
  return (target, callback) => connect(target, callback);
};

/**
 * For many slow clients at once: Node would read 64 KiB from a socket at a time and keep them until the client takes them.
 * Connections read into one buffer in turn, and keep a copy of what arrived. TLS is read by records, of 16 KiB at most.
 */
export const createDownloadConnect = (options: ConnectOptions): Connect => {
  if (options.tls !== undefined) return createConnect(options);
  const buffer = Buffer.allocUnsafeSlow(PIECE_BYTES);
  return (target, callback) => {
    let socket: Socket | undefined;
    const onread = {
      buffer,
      // Only a connected socket is read.
      callback: (bytes: number): boolean => socket?.push(copyOf(buffer, bytes)) ?? false,
    };
    // Passed on to the socket.
    const forSocket: { onread: OnReadOpts; highWaterMark: number } = { onread, highWaterMark: PIECE_BYTES };
    buildConnector({ ...toBuild(options), ...forSocket })(target, (...result) => {
      socket = result[1] ?? undefined;
      callback(...result);
    });
  };
};

/** With memory of its own: a part of a pool would keep the whole pool as long as its client is slow. */
const copyOf = (buffer: Buffer, bytes: number): Buffer => {
  const copy = Buffer.allocUnsafeSlow(bytes);
  buffer.copy(copy, 0, 0, bytes);
  return copy;
};

const toBuild = ({ tls, timeoutMs }: ConnectOptions): buildConnector.BuildOptions => ({
  timeout: timeoutMs,
  ...tls?.current(),
});
