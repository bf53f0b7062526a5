import { connect } from 'node:net';

/** @typedef {{ host: string, port: number }} Address */

/**
 * Sends a few bytes and reads the start of the response, to find out whether a server speaks its protocol.
 * @param {Address} address
 * @param {Buffer | string} question
 * @param {(answer: Buffer) => boolean} accepts
 * @returns {Promise<boolean>} false for another response, or none within 2 s
 */
function probe(address, question, accepts) {
  return new Promise((resolve) => {
    const socket = connect(address);
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

/** @param {Address} address */
export const redisAnswers = (address) =>
  probe(address, 'PING\r\n', (answer) => /^(\+PONG|-NOAUTH)/.test(answer.toString('latin1')));

/** The broker answers the protocol header with the method frame Connection.Start. */
const amqpHeader = Buffer.from([0x41, 0x4d, 0x51, 0x50, 0, 0, 9, 1]);

/** @param {Address} address */
export const rabbitmqAnswers = (address) => probe(address, amqpHeader, (answer) => answer[0] === 1);

/**
 * Whether a given server responds. An address with TLS is not checked. On a busy machine one attempt may exceed its 2 s.
 * @param {string} uri
 * @param {number} defaultPort
 * @param {(address: Address) => Promise<boolean>} answers
 */
export async function givenAnswers(uri, defaultPort, answers) {
  const { protocol, hostname, port } = new URL(uri);
  if (protocol === 'rediss:' || protocol === 'amqps:') return true;
  const address = { host: hostname.replace(/^\[|\]$/g, ''), port: Number(port) || defaultPort };
  for (let attempt = 1; attempt <= 5; attempt += 1) if (await answers(address)) return true;
  return false;
}
