import { createServer } from 'node:net';
import { Failure } from './failure.mjs';

/**
 * @typedef {object} PortNeed
 * @property {number} port
 * @property {string} part the part that needs it
 * @property {string} variable the environment variable that changes it
 */

/** @param {number} port @returns {Promise<import('node:net').Server | undefined>} undefined when the port is taken */
function listen(port) {
  return new Promise((resolve, reject) => {
    const server = createServer();
    server.once('error', (error) => {
      const { code } = /** @type {NodeJS.ErrnoException} */ (error);
      if (code === 'EADDRINUSE' || code === 'EACCES') resolve(undefined);
      else reject(error);
    });
    server.listen({ port, host: '127.0.0.1', exclusive: true }, () => resolve(server));
  });
}

/** @param {import('node:net').Server} server @returns {Promise<void>} */
const close = (server) => new Promise((resolve) => server.close(() => resolve()));

/** @param {PortNeed[]} needs */
export async function assertFree(needs) {
  const seen = new Map();
  for (const { port, part, variable } of needs) {
    const other = seen.get(port);
    if (other) throw new Failure(`Port ${port} is given to both ${other} and ${part}: change ${variable}.`);
    seen.set(port, part);
  }
  for (const { port, part, variable } of needs) {
    const server = await listen(port);
    if (!server) {
      throw new Failure(
        `Port ${port}, which ${part} needs, is already taken: free it, or choose another one with ${variable}.`,
      );
    }
    await close(server);
  }
}

/** Ports below the range that systems use for outgoing connections, so a released port stays free. */
const lowestFree = 20_000;
const highestFree = 32_000;

/**
 * Finds free ports. All of them stay bound until the last one is found, so they differ.
 * @param {number} count
 * @param {number[]} [reserved] ports that something else will use
 */
export async function freePorts(count, reserved = []) {
  /** @type {Map<number, import('node:net').Server>} */
  const bound = new Map();
  for (let attempt = 0; bound.size < count; attempt += 1) {
    if (attempt > 1_000) throw new Failure(`There are no ${count} free ports on 127.0.0.1.`);
    const port = lowestFree + Math.floor(Math.random() * (highestFree - lowestFree));
    const isTaken = bound.has(port) || reserved.includes(port);
    const server = isTaken ? undefined : await listen(port);
    if (server) bound.set(port, server);
  }
  await Promise.all([...bound.values()].map(close));
  return [...bound.keys()];
}
