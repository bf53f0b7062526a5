import { connect } from 'node:net';

/**
 * Sends a few bytes and reads the response, to find out whether a server speaks its protocol.
 * @template T
 * @param {{ host: string, port: number }} address
 * @param {Buffer | string} question
 * @param {(answer: Buffer) => T | undefined} read undefined until enough has been received
 * @returns {Promise<T | undefined>} undefined for another answer, or none within 2 s
 */
function ask({ host, port }, question, read) {
  return new Promise((resolve) => {
    const socket = connect({ host, port });
    let received = Buffer.alloc(0);
    /** @param {T} [answer] */
    const finish = (answer) => {
      socket.destroy();
      resolve(answer);
    };
    socket.setTimeout(2_000, () => finish());
    socket.on('error', () => finish());
    socket.on('close', () => resolve(undefined));
    socket.on('connect', () => socket.write(question));
    socket.on('data', (chunk) => {
      received = Buffer.concat([received, chunk]);
      const answer = read(received);
      if (answer !== undefined) finish(answer);
    });
  });
}

/** @param {{ host: string, port: number }} address @param {Buffer | string} question @param {(answer: Buffer) => boolean} accepts */
const probe = async (address, question, accepts) =>
  (await ask(address, question, (answer) => accepts(answer) || undefined)) === true;

/** @param {{ host: string, port: number }} address */
export const redisAnswers = (address) =>
  probe(address, 'PING\r\n', (answer) => /^(\+PONG|-NOAUTH)/.test(answer.toString('latin1')));

/** The version; empty if an unauthenticated client may not read it. @param {{ host: string, port: number }} address */
export const redisVersion = (address) =>
  ask(address, 'INFO server\r\n', (answer) => {
    const text = answer.toString('latin1');
    return text.startsWith('-') ? '' : /^redis_version:(\S+)/m.exec(text)?.[1];
  });

/** The broker answers the protocol header with the method frame Connection.Start. */
const amqpHeader = Buffer.from([0x41, 0x4d, 0x51, 0x50, 0, 0, 9, 1]);

/** @param {{ host: string, port: number }} address */
export const rabbitmqAnswers = (address) => probe(address, amqpHeader, (answer) => answer[0] === 1);

/** The version, which the broker's first method contains as a long string. @param {{ host: string, port: number }} address */
export const rabbitmqVersion = (address) =>
  ask(address, amqpHeader, (answer) => {
    const name = 'versionS';
    const at = answer.indexOf(name) + name.length;
    if (at < name.length || answer.length < at + 4) return undefined;
    const end = at + 4 + answer.readUInt32BE(at);
    return answer.length < end ? undefined : answer.toString('latin1', at + 4, end);
  });

/**
 * Retries for a given server: on a busy machine one attempt may exceed its 2 s.
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
