/**
 * The whole product with a user for each process at each server, on servers of its own:
 *
 *   node scripts/lib/restricted-stack-main.mjs <directory>
 *
 * When it runs, it prints one line of JSON; SIGTERM ends it. MONGODB_URI, REDIS_URL and AMQP_URL must not be set.
 */
import { mkdirSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { messageOf } from './failure.mjs';
import { nodeBinary, root } from './paths.mjs';
import { freePorts } from './ports.mjs';
import { pick } from './servers/candidate.mjs';
import { startServers } from './servers/index.mjs';
import { mongodb } from './servers/mongodb.mjs';
import { onEndSignal } from './signals.mjs';
import { startStack } from './stack.mjs';
import { createSupervisor, lastLines, runTool } from './supervisor.mjs';

const [directory = ''] = process.argv.slice(2);
const logDirectory = join(directory, 'logs');
const credentials = join(directory, 'credentials');
const supervisor = createSupervisor({
  onUnexpectedExit: ({ name, ended }) => console.error(`${name} has ended by itself (${ended})`),
});

/** @param {number} exitCode @returns {Promise<never>} */
async function end(exitCode) {
  await supervisor.stopAll();
  process.exit(exitCode);
}

/** @param {string} name @param {string[]} args @param {NodeJS.ProcessEnv} [environment] */
async function runCommand(name, args, environment = {}) {
  const logFile = join(logDirectory, `${name}.log`);
  const script = join(root, `packages/shared/src/provisioning/${name}.ts`);
  const env = { ...process.env, ...environment };
  const launch = { name, command: nodeBinary, args: [script, ...args], cwd: root, env, logFile };
  if (!(await runTool(supervisor, launch))) throw new Error(`${name} failed: ${lastLines(logFile, 5)}`);
}

/** A variable for each file of the process. @param {string} name */
const credentialsOf = (name) =>
  Object.fromEntries(
    readdirSync(join(credentials, name)).map((variable) => [
      variable,
      readFileSync(join(credentials, name, variable), 'utf8'),
    ]),
  );

/** As docker-compose.yml gives them. @param {string} name */
function environmentOf(name) {
  if (name === 'sandbox') return {};
  const common = { EVENTS_NAMESPACE: 'fitness', AMQP_TOPOLOGY: 'provisioned', ...credentialsOf(name) };
  if (name === 'gateway') return { ...common, ADDRESS_LIMIT_PER_MINUTE: '100000' };
  return { ...common, MONGODB_DATABASE: `fitness_${name.replaceAll('-', '_')}` };
}

async function main() {
  mkdirSync(logDirectory, { recursive: true });
  const [forMongodb = 0, redis = 0, rabbitmq = 0, rabbitmqDistribution = 0, epmd = 0] = await freePorts(5);
  const ports = { mongodb: forMongodb, redis, rabbitmq, rabbitmqDistribution, epmd };
  const context = { supervisor, directory, ephemeral: true, logDirectory, ports, log: console.error };
  // Without users, so that the first ones can be created.
  // A container would keep no data between its two starts.
  const open = await pick(mongodb, { ...context, withoutContainers: true });
  await runCommand('credentials-cli', [
    credentials,
    ...['--mongodb', open.uri],
    ...['--redis', `redis://127.0.0.1:${redis}`],
    ...['--rabbitmq', `amqp://127.0.0.1:${rabbitmq}`],
  ]);
  const passwords = join(credentials, 'mongodb-users/passwords.json');
  await runCommand('mongodb-users-cli', [passwords], { MONGODB_URI: open.uri });
  await open.stop();
  const servers = await startServers({ ...context, credentials });
  const stack = await startStack({
    supervisor,
    servers: { ...servers, environmentOf },
    directory,
    logDirectory,
  });
  const { url, sandboxUrl, file } = stack;
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
