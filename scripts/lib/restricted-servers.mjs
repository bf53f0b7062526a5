import { appendFileSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { nodeBinary, root } from './paths.mjs';
import { pick } from './servers/candidate.mjs';
import { startServers } from './servers/index.mjs';
import { mongodb, withAdmin } from './servers/mongodb.mjs';
import { lastLines, runTool } from './supervisor.mjs';

/** The name and password of the test user, which has all permissions. */
const TESTS = 'tests';

/** The broker's virtual host for the processes, deliberately not the default one. */
const VHOST = 'fitness';

/**
 * Servers with the users and permissions of a deployment: one user per process, and one for the tests.
 * @param {import('./servers/candidate.mjs').Context} context
 * @param {(picked: import('./servers/index.mjs').Picked) => void} [onUp]
 * @returns {Promise<import('./servers/index.mjs').Servers & { credentials: string }>}
 */
export async function startRestrictedServers(context, onUp) {
  const credentials = join(context.directory, 'credentials');
  const { redis, rabbitmq } = context.ports;
  // MongoDB first starts without users so that they can be created. A container would lose its data between the two starts.
  const open = await pick(mongodb, { ...context, withoutContainers: true });
  await runProvisioning(context, 'credentials-cli', [
    credentials,
    ...['--mongodb', open.uri],
    ...['--redis', `redis://127.0.0.1:${redis}`],
    ...['--rabbitmq', `amqp://127.0.0.1:${rabbitmq}/${VHOST}`],
  ]);
  const passwords = join(credentials, 'mongodb-users/passwords.json');
  await runProvisioning(context, 'mongodb-users-cli', [passwords], { MONGODB_URI: open.uri });
  await withAdmin(open.uri, 5_000, (admin) =>
    admin.command({ createUser: TESTS, pwd: TESTS, roles: ['root'] }),
  );
  await open.stop();
  allowTests(credentials);
  const servers = await startServers({ ...context, credentials }, onUp);
  const as = (/** @type {string} */ uri) => uri.replace(/:\/\/([^@]*@)?/, `://${TESTS}:${TESTS}@`);
  const environment = {
    MONGODB_URI: `${as(servers.mongodb.uri)}&authSource=admin`,
    REDIS_URL: as(servers.redis.uri),
    AMQP_URL: `${as(servers.rabbitmq.uri)}/${VHOST}`,
  };
  const environmentOf = (/** @type {string} */ name) => ofProcess(credentials, name);
  return { ...servers, environment, environmentOf, credentials };
}

/**
 * @param {import('./servers/candidate.mjs').Context} context
 * @param {string} name
 * @param {string[]} args
 * @param {NodeJS.ProcessEnv} [environment]
 */
async function runProvisioning({ supervisor, logDirectory }, name, args, environment = {}) {
  const logFile = join(logDirectory, `${name}.log`);
  const script = join(root, `packages/shared/src/process-identity/provisioning/${name}.ts`);
  // Provisioning refuses addresses that all processes would share.
  const { MONGODB_URI: _mongodb, REDIS_URL: _redis, AMQP_URL: _amqp, ...own } = process.env;
  const env = { ...own, ...environment };
  const launch = { name, command: nodeBinary, args: [script, ...args], cwd: root, env, logFile };
  if (!(await runTool(supervisor, launch))) throw new Error(`${name} failed: ${lastLines(logFile, 5)}`);
}

/** @param {string} credentials */
function allowTests(credentials) {
  appendFileSync(join(credentials, 'redis/users.acl'), `user ${TESTS} on >${TESTS} ~* &* +@all\n`);
  const file = join(credentials, 'rabbitmq/definitions.json');
  const definitions = JSON.parse(readFileSync(file, 'utf8'));
  definitions.users.push({ name: TESTS, password: TESTS, tags: [] });
  const everything = { configure: '.*', write: '.*', read: '.*' };
  definitions.permissions.push({ user: TESTS, vhost: VHOST, ...everything });
  writeFileSync(file, JSON.stringify(definitions));
}

/** The variables of a process, as docker-compose.yml sets them. @param {string} credentials @param {string} name @returns {NodeJS.ProcessEnv} */
function ofProcess(credentials, name) {
  if (name === 'sandbox') return {};
  const variables = readdirSync(join(credentials, name)).map((variable) => [
    variable,
    readFileSync(join(credentials, name, variable), 'utf8'),
  ]);
  const common = {
    EVENTS_NAMESPACE: 'fitness',
    AMQP_TOPOLOGY: 'provisioned',
    ...Object.fromEntries(variables),
  };
  return name === 'gateway'
    ? common
    : { ...common, MONGODB_DATABASE: `fitness_${name.replaceAll('-', '_')}` };
}
