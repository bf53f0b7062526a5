/**
 * Runs the whole product on separate servers, with one user per process and server:
 *
 *   node scripts/lib/restricted-stack-main.mjs <directory>
 *
 * When the product is ready, the script prints one line of JSON. SIGTERM ends it. MONGODB_URI, REDIS_URL and AMQP_URL must not be set.
 */
import { join } from 'node:path';
import { messageOf } from './failure.mjs';
import { onEndSignal } from './signals.mjs';
import { createTestRun } from './test-run.mjs';

const [directory = ''] = process.argv.slice(2);
const logDirectory = join(directory, 'logs');
const run = createTestRun({ directory, logDirectory, log: console.error });

onEndSignal(() => void run.end().then(() => process.exit(0)));
try {
  const servers = await run.startServers('servers', { isRestricted: true });
  const { url, sandboxUrl, file } = await run.startProduct('product', servers);
  console.log(JSON.stringify({ url, sandboxUrl, file, credentials: servers.credentials, logDirectory }));
} catch (error) {
  console.error(messageOf(error));
  await run.end();
  process.exit(1);
}
