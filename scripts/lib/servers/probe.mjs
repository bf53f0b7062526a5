import { connect } from 'node:net';

/**
 * Sends a few bytes and checks the answer, to find out whether a server speaks its protocol.
 * @param {{ host: string, port: number }} address
 * @param {Buffer | string} question
 * @param {(answer: Buffer) => boolean} accepts
 * @returns {Promise<boolean>}
 */
function probe({ host, port }, question, accepts) {
  return new Promise((resolve) => {
    const socket = connect({ host, port });
    let received = Buffer.alloc(0);
    /** @param {boolean} answer */
    const finish = (answer) => {
      socket.destroy();
      resolve(answer);
    };
    socket.setTimeout(2_000, () => finish(false));
    socket.on('error', () => finish(false));
    socket.on('close', () => resolve(false));
    socket.on('connect', () => socket.write(question));
    socket.on('data', (chunk) => {
      received = Buffer.concat([received, chunk]);
      if (accepts(received)) finish(true);
    });
  });
}

/** @param {{ host: string, port: number }} address */
export const redisAnswers = (address) =>
  probe(address, 'PING\r\n', (answer) => /^(\+PONG|-NOAUTH)/.test(answer.toString('latin1')));

/** The broker answers the protocol header with the method frame Connection.Start. */
const amqpHeader = Buffer.from([0x41, 0x4d, 0x51, 0x50, 0, 0, 9, 1]);

/** @param {{ host: string, port: number }} address */
export const rabbitmqAnswers = (address) => probe(address, amqpHeader, (answer) => answer[0] === 1);

/**
 * For a given server: on a busy machine one attempt may take longer than its 2 s.
 * @param {() => Promise<boolean>} answers
 */
export async function answersAtAll(answers) {
  for (let attempt = 1; attempt <= 5; attempt += 1) if (await answers()) return true;
  return false;
}

/**
 * @param {string} uri
 * @param {number} defaultPort
 */
export function addressOf(uri, defaultPort) {
  const { hostname, port } = new URL(uri);
  return { host: hostname.replace(/^\[|\]$/g, ''), port: Number(port) || defaultPort };
}
