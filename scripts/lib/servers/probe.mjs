import { connect } from 'node:net';

/**
 * Sends a few bytes and reads the start of the response, to find out whether a server speaks its protocol.
 * @param {string} uri
 * @param {number} defaultPort
 * @param {Buffer | string} question
 * @param {(answer: Buffer) => boolean} accepts
 * @returns {Promise<boolean>} false for another response, or none within 2 s
 */
function probe(uri, defaultPort, question, accepts) {
  const { hostname, port } = new URL(uri);
  return new Promise((resolve) => {
    const socket = connect({ host: hostname.replace(/^\[|\]$/g, ''), port: Number(port) || defaultPort });
    const finish = (/** @type {boolean} */ isServer) => {
      socket.destroy();
      resolve(isServer);
    };
    socket.setTimeout(2_000, () => finish(false));
    socket.on('error', () => finish(false));
    socket.on('close', () => resolve(false));
    socket.on('connect', () => socket.write(question));
    socket.on('data', (chunk) => finish(accepts(chunk)));
  });
}

/** @param {string} uri */
export const redisAnswers = (uri) =>
  probe(uri, 6379, 'PING\r\n', (answer) => /^(\+PONG|-NOAUTH)/.test(answer.toString('latin1')));

/** The broker answers the protocol header with the method frame Connection.Start. */
const amqpHeader = Buffer.from([0x41, 0x4d, 0x51, 0x50, 0, 0, 9, 1]);

/** @param {string} uri */
export const rabbitmqAnswers = (uri) => probe(uri, 5672, amqpHeader, (answer) => answer[0] === 1);

/**
 * Whether a given server responds. An address with TLS is not checked. On a busy machine one attempt may exceed its 2 s.
 * @param {string} uri
 * @param {(uri: string) => Promise<boolean>} answers
 */
export async function givenAnswers(uri, answers) {
  if (/^(?:rediss|amqps):/.test(uri)) return true;
  for (let attempt = 1; attempt <= 5; attempt += 1) if (await answers(uri)) return true;
  return false;
}
