import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { Failure, messageOf, PartEnded, Stopped } from '../failure.mjs';
import { lastLines, watchProgress } from '../supervisor.mjs';
import { pause, stopwatch } from '../time.mjs';
import { findOrInstall } from './apt.mjs';
import {
  containerProcess,
  daemonAnswers,
  imageAvailable,
  removeContainers,
  startTestContainer,
} from './docker.mjs';

/**
 * @typedef {object} Context
 * @property {import('../supervisor.mjs').Supervisor} supervisor
 * @property {string} directory where the servers keep their data
 * @property {boolean} ephemeral whether the data is deleted afterwards
 * @property {string} logDirectory
 * @property {ServerPorts} ports
 * @property {(line: string) => void} log
 * @property {string} [credentials] a directory written by credentials-cli.ts: only its users may connect
 * @property {boolean} [withoutContainers]
 * @property {Promise<unknown>} [packages] resolves when the packages are installed, if servers may start before
 *
 * @typedef {Record<'mongodb' | 'redis' | 'rabbitmq' | 'rabbitmqDistribution' | 'epmd', number>} ServerPorts
 *   rabbitmqDistribution: between broker nodes; epmd: Erlang's own name service
 *
 * @typedef {object} Server
 * @property {string} uri
 * @property {() => Promise<void>} start resolves when the server answers; does nothing if it is running
 * @property {() => Promise<void>} stop stops the server, which can be started again
 * @property {() => Promise<void>} [remove] ends anything that is not a child process of the supervisor
 *
 * @typedef {object} Candidate one way to get a server
 * @property {string} engine the storage format; candidates for the same program share an engine
 * @property {string} title
 * @property {(context: Context) => Promise<Server | string>} find the server, ready to start, or the reason why there is none
 *
 * @typedef {object} ServerDefinition
 * @property {string} name
 * @property {string} uriVariable the environment variable with the address of a running server
 * @property {(uri: string, context: Context) => Promise<string | undefined>} check the problem with the given server, if any
 * @property {Candidate[]} candidates in the order of preference
 * @property {string} advice how to get the server if no candidate works
 *
 * @typedef {Server & { name: string, choice: string, reason: string, took: string }} Picked
 */

const nothing = async () => {};

/**
 * Starts the first candidate that works, in the order of the definition. Candidates with the engine of existing data come first:
 * any other would start without data.
 * @param {ServerDefinition} definition
 * @param {Context} context
 * @returns {Promise<Picked>}
 */
export async function pick({ name, uriVariable, check, candidates, advice }, context) {
  const elapsed = stopwatch();
  const uri = process.env[uriVariable];
  if (uri) {
    const wrong = await check(uri, context);
    if (wrong) throw new Failure(`${uriVariable} is set, but ${wrong}.`);
    remember(context, name);
    const server = { uri, start: nothing, stop: nothing };
    return { ...server, name, choice: 'the given server', reason: `${uriVariable} is set`, took: elapsed() };
  }
  const last = context.ephemeral ? undefined : serversOf(context.directory).engines[name];
  const hasData = (/** @type {Candidate} */ { engine }) => Number(engine === last);
  const skipped = [`${uriVariable} is not set`];
  for (const candidate of candidates.toSorted((one, other) => hasData(other) - hasData(one))) {
    const server = await tryCandidate(candidate, context, skipped);
    if (!server) continue;
    remember(context, name, candidate.engine);
    const reason = candidate.engine === last ? 'it has the data of the last start' : skipped.join(', ');
    return { ...server, name, choice: candidate.title, reason, took: elapsed() };
  }
  throw new Failure(`${name} is not available here (${skipped.join(', ')}). ${advice}`);
}

/** @param {Candidate} candidate @param {Context} context @param {string[]} skipped collects the reason if the candidate does not work */
async function tryCandidate(candidate, context, skipped) {
  try {
    const server = await candidate.find(context);
    if (typeof server !== 'string') {
      await server.start();
      return server;
    }
    skipped.push(server);
  } catch (error) {
    if (error instanceof Stopped || context.supervisor.closing) throw new Stopped();
    context.log(`${candidate.title} does not work here: ${messageOf(error)}`);
    skipped.push(`${candidate.title} failed`);
  }
  return undefined;
}

/** @param {string} directory */
const enginesFile = (directory) => join(directory, 'servers.json');

/**
 * The record of the last start. `engines`: the storage engine by server; `given`: servers that were set by their address.
 * @param {string} directory
 * @returns {{ engines: Record<string, string>, given: string[] }}
 */
export function serversOf(directory) {
  try {
    const { given = [], ...engines } = JSON.parse(readFileSync(enginesFile(directory), 'utf8'));
    return { engines, given };
  } catch {
    return { engines: {}, given: [] };
  }
}

/**
 * Records the server's engine. For a given server, the old engine stays recorded, because its data is still in the directory.
 * @param {Context} context
 * @param {string} server
 * @param {string} [engine] undefined for a given server
 */
function remember({ directory, ephemeral }, server, engine) {
  if (ephemeral) return;
  const { engines, given: all } = serversOf(directory);
  const given = all.filter((name) => name !== server).concat(engine === undefined ? server : []);
  const record = { ...engines, ...(engine && { [server]: engine }), given };
  mkdirSync(directory, { recursive: true });
  writeFileSync(enginesFile(directory), `${JSON.stringify(record, null, 2)}\n`);
}

/**
 * A server that runs as a child process.
 * @param {Pick<Context, 'supervisor' | 'logDirectory'>} context
 * @param {string} uri
 * @param {Omit<import('../supervisor.mjs').Launch, 'tier' | 'logFile'>} launch
 * @param {() => Promise<boolean>} answers
 * @param {() => Promise<void>} [prepare] runs before each start
 * @returns {Server}
 */
export function processServer(context, uri, launch, answers, prepare = nothing) {
  const logFile = join(context.logDirectory, `${launch.name}.log`);
  /** @type {import('../supervisor.mjs').Child | undefined} */
  let child;
  const spawnServer = async () => {
    await prepare();
    const append = child !== undefined;
    child = context.supervisor.start({ ...launch, tier: 'server', logFile, append, restart });
    return child;
  };
  const restart = async () => untilAnswers(await spawnServer(), answers);
  return {
    uri,
    async start() {
      // A second process would fail on the first one's port, and then the first could no longer be stopped.
      if (child !== undefined && child.ended === undefined) return;
      const started = await spawnServer();
      // Until the server responds, its failure must not end the whole start: another candidate may work.
      started.endExpected = true;
      await untilAnswers(started, answers);
      started.endExpected = false;
    },
    async stop() {
      await child?.stop(5_000);
    },
  };
}

/** @param {import('../supervisor.mjs').Child} child @param {() => Promise<boolean>} answers */
async function untilAnswers(child, answers) {
  /** @type {ReturnType<typeof watchProgress> | undefined} */
  let standsStill;
  for (;;) {
    if (child.ended !== undefined) {
      throw new PartEnded(`${child.name} ended with ${child.ended}: ${lastLines(child.logFile, 5)}`);
    }
    if (await answers()) return;
    // The first answer may have waited for the packages.
    standsStill ??= watchProgress(child, { stillMs: 60_000, atMostMs: 10 * 60_000 });
    if (standsStill()) {
      await child.stop(2_000);
      throw new Error(`${child.name} does not answer and makes no progress: ${lastLines(child.logFile, 5)}`);
    }
    await pause(50);
  }
}

/**
 * The first candidate of every server: its official image. Tests use testcontainers, which keep no data. Otherwise it is
 * a plain container with a volume.
 * @param {string} image
 * @param {(context: Context) => Omit<import('./docker.mjs').Container, 'image'> & { uri: string, answers: () => Promise<boolean> }} describe
 * @returns {Candidate}
 */
export function dockerCandidate(image, describe) {
  return {
    engine: 'docker',
    title: `Docker (${image})`,
    async find(context) {
      if (context.withoutContainers) return 'it runs as a process here';
      if (!(await daemonAnswers())) return 'no Docker daemon responds';
      if (!(await imageAvailable(image))) return `Docker cannot get the image ${image}`;
      const container = { ...describe(context), image };
      const { uri, answers } = container;
      if (context.ephemeral) return testContainerServer(container);
      const launch = { name: container.name, ...containerProcess(container) };
      return processServer(context, uri, launch, answers, () => removeContainers([container.name]));
    },
  };
}

/**
 * A program of this machine, which is installed from Debian's packages if it is missing.
 * @param {string} program
 * @param {(context: Context, command: string) => Server | string} serverOf
 * @returns {Candidate}
 */
export const programCandidate = (program, serverOf) => ({
  engine: program,
  title: program,
  async find(context) {
    const command = await findOrInstall(context, program);
    return command
      ? serverOf(context, command)
      : `${program} is not on the PATH, and apt-get cannot install it`;
  },
});

/** @param {import('./docker.mjs').Container & { uri: string, answers: () => Promise<boolean> }} container @returns {Server} */
function testContainerServer(container) {
  /** @type {Awaited<ReturnType<typeof startTestContainer>> | undefined} */
  let started;
  const untilAnswering = async () => {
    const deadline = Date.now() + 60_000;
    while (!(await container.answers())) {
      if (Date.now() > deadline) throw new Error(`${container.image} does not answer after 60 s`);
      await pause(100);
    }
  };
  return {
    uri: container.uri,
    async start() {
      if (started) await started.resume();
      else started = await startTestContainer(container);
      await untilAnswering();
    },
    async stop() {
      await started?.pause();
    },
    async remove() {
      await started?.remove();
    },
  };
}
