/**
 * Runs the whole product on separate servers, with one user per process and server:
 *
 *   node scripts/lib/restricted-stack-main.mjs <directory>
 *
 * When the product is ready, the script prints one line of JSON. SIGTERM ends it. MONGODB_URI, REDIS_URL and AMQP_URL must not be set.
 */
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { messageOf } from './failure.mjs';
import { freePorts } from './ports.mjs';
import { startRestrictedServers } from './restricted-servers.mjs';
import { onEndSignal } from './signals.mjs';
import { startStack } from './stack.mjs';
import { createSupervisor } from './supervisor.mjs';

const [directory = ''] = process.argv.slice(2);
const logDirectory = join(directory, 'logs');
const supervisor = createSupervisor({
  onUnexpectedExit: ({ name, ended }) => console.error(`${name} has ended by itself (${ended})`),
});

/** @param {number} exitCode @returns {Promise<never>} */
async function end(exitCode) {
  await supervisor.stopAll();
  process.exit(exitCode);
}

async function main() {
  mkdirSync(logDirectory, { recursive: true });
  const [mongodb = 0, redis = 0, rabbitmq = 0, rabbitmqDistribution = 0, epmd = 0] = await freePorts(5);
  const ports = { mongodb, redis, rabbitmq, rabbitmqDistribution, epmd };
  const context = { supervisor, directory, ephemeral: true, logDirectory, ports, log: console.error };
  const { servers, credentials } = await startRestrictedServers(context);
  const { url, sandboxUrl, file } = await startStack({ supervisor, servers, directory, logDirectory });
  console.log(JSON.stringify({ url, sandboxUrl, file, credentials, logDirectory }));
}

onEndSignal(() => void end(0));
process.once('exit', () => supervisor.killAll());
try {
  await main();
} catch (error) {
  console.error(messageOf(error));
  await end(1);
}
