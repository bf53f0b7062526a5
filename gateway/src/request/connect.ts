/** Connections to the services: encrypted and mutually authenticated where certificates are configured. */
import type { OnReadOpts, Socket } from 'node:net';
import type { ProcessTls } from '@fitness/shared/process-identity/process-tls.ts';
import { buildConnector } from 'undici';

/** The largest read from the socket of a download. */
export const PIECE_BYTES = 8 * 1024;

interface ConnectOptions {
  tls: ProcessTls | undefined;
  timeoutMs: number;
}

type Connect = buildConnector.connector;

/** New connections use a renewed certificate, and never resume a TLS session of the old one. */
export const createConnect = (options: ConnectOptions): Connect => {
  let connect = buildConnector(toBuild(options));
  options.tls?.onRenewal(() => {
    connect = buildConnector(toBuild(options));
  });
  return (target, callback) => connect(target, callback);
};

/**
 * Saves memory with many slow clients: by default, Node reads 64 KiB from a socket and keeps them until the client takes them.
 * Here all connections read into one buffer, and keep a copy of the bytes. TLS is read by records of at most 16 KiB.
 */
export const createDownloadConnect = (options: ConnectOptions): Connect => {
  if (options.tls !== undefined) return createConnect(options);
  const buffer = Buffer.allocUnsafeSlow(PIECE_BYTES);
  return (target, callback) => {
    let socket: Socket | undefined;
    const onread = {
      buffer,
      // `socket` is set by then, because only a connected socket is read.
      callback: (bytes: number): boolean => socket?.push(copyOf(buffer, bytes)) ?? false,
    };
    // undici passes these options on to the socket.
    const forSocket: { onread: OnReadOpts; highWaterMark: number } = { onread, highWaterMark: PIECE_BYTES };
    buildConnector({ ...toBuild(options), ...forSocket })(target, (...result) => {
      socket = result[1] ?? undefined;
      callback(...result);
    });
  };
};

/** A copy outside the buffer pool: a slow client would keep the whole pool in memory. */
const copyOf = (buffer: Buffer, bytes: number): Buffer => {
  const copy = Buffer.allocUnsafeSlow(bytes);
  buffer.copy(copy, 0, 0, bytes);
  return copy;
};

const toBuild = ({ tls, timeoutMs }: ConnectOptions): buildConnector.BuildOptions => ({
  timeout: timeoutMs,
  ...tls?.current(),
});
