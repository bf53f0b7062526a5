import { pick } from './candidate.mjs';
import { mongodb } from './mongodb.mjs';
import { rabbitmq } from './rabbitmq.mjs';
import { redis } from './redis.mjs';

/** @typedef {import('./candidate.mjs').Picked} Picked */

/**
 * @typedef {object} Servers
 * @property {Picked} mongodb
 * @property {Picked} redis
 * @property {Picked} rabbitmq
 * @property {NodeJS.ProcessEnv} environment the variables with their addresses
 * @property {(process: string) => NodeJS.ProcessEnv} [environmentOf] the variables of one process, instead of `environment`
 * @property {string} [credentials] the directory with the users of all processes
 * @property {() => Promise<void>} remove ends anything that is not a child process of the supervisor
 */

/**
 * Picks and starts MongoDB, Redis and RabbitMQ, all three at once.
 * @param {import('./candidate.mjs').Context} context
 * @param {(picked: Picked) => void} [onUp]
 * @returns {Promise<Servers>}
 */
export async function startServers(context, onUp = () => {}) {
  /** @type {Picked[]} */
  const up = [];
  const remove = async () => void (await Promise.allSettled(up.map((server) => server.remove?.())));
  const start = async (/** @type {import('./candidate.mjs').ServerDefinition} */ definition) => {
    const picked = await pick(definition, context);
    up.push(picked);
    onUp(picked);
    return picked;
  };
  try {
    const [mongo, cache, broker] = await Promise.all([start(mongodb), start(redis), start(rabbitmq)]);
    return {
      mongodb: mongo,
      redis: cache,
      rabbitmq: broker,
      environment: { MONGODB_URI: mongo.uri, REDIS_URL: cache.uri, AMQP_URL: broker.uri },
      remove,
    };
  } catch (error) {
    await remove();
    throw error;
  }
}
