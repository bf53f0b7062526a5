import { existsSync, mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { findExecutable, root } from '../paths.mjs';
import { pause } from '../time.mjs';
import { dockerCandidate, processServer, programCandidate } from './candidate.mjs';
import { images } from './images.mjs';
import { givenAnswers, rabbitmqAnswers } from './probe.mjs';

/** @typedef {import('./candidate.mjs').Context} Context */

/** The same mount points as in docker-compose.yml. @param {string} credentials @returns {Record<string, string>} */
const mountsOf = (credentials) => ({
  '/run/credentials': join(credentials, 'rabbitmq'),
  '/etc/rabbitmq/conf.d/20-fitness.conf': join(root, 'deploy/rabbitmq.conf'),
});

/** @param {Context} context */
const uriIn = ({ ports }) => `amqp://guest:guest@127.0.0.1:${ports.rabbitmq}`;

/** @param {Context} context @param {string} directory @returns {NodeJS.ProcessEnv} */
function brokerEnvironment({ ports }, directory) {
  const file = (/** @type {string} */ name) => join(directory, name);
  return {
    ...process.env,
    // Erlang keeps the nodes' shared secret in the home directory.
    HOME: directory,
    ERL_EPMD_PORT: String(ports.epmd),
    ERL_EPMD_ADDRESS: '127.0.0.1',
    RABBITMQ_NODENAME: 'fitness@localhost',
    RABBITMQ_DIST_PORT: String(ports.rabbitmqDistribution),
    RABBITMQ_MNESIA_BASE: file('mnesia'),
    RABBITMQ_LOG_BASE: file('log'),
    RABBITMQ_LOGS: '-',
    RABBITMQ_CONFIG_FILE: file('rabbitmq.conf'),
    RABBITMQ_CONFIG_FILES: file('conf.d'),
    RABBITMQ_ADVANCED_CONFIG_FILE: file('advanced.config'),
    RABBITMQ_ENABLED_PLUGINS_FILE: file('enabled_plugins'),
    // This file does not exist, so the system's settings have no effect.
    RABBITMQ_CONF_ENV_FILE: file('rabbitmq-env.conf'),
    // The broker replaces the start script instead of being its child, so it receives the signals.
    RABBITMQ_ALLOW_INPUT: '1',
    RABBITMQ_SERVER_ADDITIONAL_ERL_ARGS: [
      '-noinput -start_epmd false -kernel inet_dist_use_interface {127,0,0,1}',
      // Idle schedulers must not use CPU time in busy waiting.
      '+sbwt none +sbwtdcpu none +sbwtdio none',
    ].join(' '),
  };
}

/** @param {Context} context @param {string} directory */
function writeConfiguration({ ports, credentials }, directory) {
  for (const name of ['mnesia', 'log', 'conf.d']) mkdirSync(join(directory, name), { recursive: true });
  writeFileSync(join(directory, 'enabled_plugins'), '[].\n');
  const lines = [
    `listeners.tcp.1 = 127.0.0.1:${ports.rabbitmq}`,
    // Otherwise the log of the quorum queues would grow to half a gigabyte before it is truncated.
    'raft.wal_max_size_bytes = 33554432',
    ...(credentials ? [`load_definitions = ${join(credentials, 'rabbitmq/definitions.json')}`] : []),
  ];
  writeFileSync(join(directory, 'rabbitmq.conf'), `${lines.join('\n')}\n`);
}

/** Debian's wrapper switches to its own user, who cannot write into our directories. This script does not. */
const scriptOfDebian = '/usr/lib/rabbitmq/bin/rabbitmq-server';

/**
 * The broker with a separate name service (epmd). A name service started by the broker itself would outlive it.
 * @param {Context} context
 * @param {string} found
 * @returns {import('./candidate.mjs').Server | string}
 */
function brokerServer(context, found) {
  const isWrapper = found.startsWith('/usr/sbin/') && existsSync(scriptOfDebian);
  const command = isWrapper ? scriptOfDebian : found;
  const epmd = findExecutable('epmd');
  if (!epmd) return 'Erlang’s epmd is not on the PATH';
  const directory = join(context.directory, 'rabbitmq');
  writeConfiguration(context, directory);
  const env = brokerEnvironment(context, directory);
  const launch = { name: 'rabbitmq', command, args: [], env, cwd: directory };
  /** @type {import('../supervisor.mjs').Child | undefined} */
  let names;
  const startNames = async () => {
    if (names !== undefined && names.ended === undefined) return;
    names = context.supervisor.start({
      name: 'epmd',
      tier: 'server',
      command: epmd,
      args: ['-port', String(context.ports.epmd), '-address', '127.0.0.1'],
      env,
      logFile: join(context.logDirectory, 'epmd.log'),
      append: names !== undefined,
      restart: startNames,
    });
    await pause(20);
  };
  const answers = () => rabbitmqAnswers(uriIn(context));
  return processServer(context, uriIn(context), launch, answers, startNames);
}

/** @type {import('./candidate.mjs').ServerDefinition} */
export const rabbitmq = {
  name: 'RabbitMQ',
  uriVariable: 'AMQP_URL',
  check: async (uri) =>
    (await givenAnswers(uri, rabbitmqAnswers)) ? undefined : 'no RabbitMQ responds there',
  candidates: [
    dockerCandidate(images.rabbitmq, (context) => ({
      name: 'rabbitmq',
      // The broker stores its data under its host name.
      hostname: 'rabbitmq',
      hostPort: context.ports.rabbitmq,
      containerPort: 5672,
      volume: '/var/lib/rabbitmq',
      args: [],
      ...(context.credentials ? { mounts: mountsOf(context.credentials) } : {}),
      uri: uriIn(context),
      answers: () => rabbitmqAnswers(uriIn(context)),
    })),
    programCandidate('rabbitmq-server', brokerServer),
  ],
  advice:
    'Install RabbitMQ 3.10 or newer (on Debian, as root: apt-get install rabbitmq-server), or set AMQP_URL.',
};
