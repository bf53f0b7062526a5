/** Clients that read a large file slowly. */
import { readdir, readlink } from 'node:fs/promises';
import type { Socket } from 'node:net';
import { sep } from 'node:path';
import { GUEST } from '@fitness/shared/kernel/caller.ts';
import { eventually } from '@fitness/shared/testing/harness.ts';
import { openRaw } from './raw.ts';
import { MEBIBYTE, pdf } from './support.ts';

/** Several times the size of a connection's buffers. */
export const FILE_BYTES = 12 * MEBIBYTE;
export const large = pdf(FILE_BYTES);

const opened: Socket[] = [];
export const disconnectAll = (): void => {
  for (const socket of opened.splice(0)) socket.destroy();
};
/** Opens a client that reads only the first bytes. Resolves when the response has started. */
export const openSlow = async (url: string, id: number): Promise<Socket> => {
  const socket = await openRaw(url, { as: GUEST, method: 'GET', path: `/api/v1/media/${id}` });
  opened.push(socket);
  await eventually(() => socket.bytesRead > 0 || socket.closed);
  return socket;
};
export const slowly = (count: number, url: string, id: number): Promise<Socket[]> =>
  Promise.all(Array.from({ length: count }, () => openSlow(url, id)));
/** Number of files in a directory that a process has open. */
export const openFiles = async (pid: number | 'self', directory: string): Promise<number> => {
  const descriptors = await readdir(`/proc/${pid}/fd`);
  const paths = descriptors.map((name) => readlink(`/proc/${pid}/fd/${name}`).catch(() => ''));
  return (await Promise.all(paths)).filter((path) => path.startsWith(`${directory}${sep}`)).length;
};
