import { execFile, spawn } from 'node:child_process';
import { createHash } from 'node:crypto';
import { findExecutable, root } from '../paths.mjs';

/**
 * Runs the Docker client to its end.
 * @param {string[]} args
 * @param {{ timeoutMs: number, firstOutputMs?: number }} limits firstOutputMs: give up if there is no output within this time
 * @returns {Promise<boolean>} whether it succeeded
 */
function docker(args, { timeoutMs, firstOutputMs = timeoutMs }) {
  return new Promise((resolve) => {
    const options = /** @type {const} */ ({ timeout: timeoutMs, killSignal: 'SIGKILL', maxBuffer: Infinity });
    const client = execFile('docker', args, options, (error) => {
      clearTimeout(silence);
      resolve(error === null);
    });
    const silence = setTimeout(() => client.kill('SIGKILL'), firstOutputMs);
    for (const output of [client.stdout, client.stderr]) output?.once('data', () => clearTimeout(silence));
  });
}

/** @type {Promise<boolean> | undefined} */
let daemon;

/** @returns {Promise<boolean>} whether there is a Docker daemon; checked once, within 3 s */
export function daemonAnswers() {
  daemon ??= findExecutable('docker')
    ? docker(['version', '--format', '{{.Server.Version}}'], { timeoutMs: 3_000 })
    : Promise.resolve(false);
  return daemon;
}

/** @type {Map<string, Promise<boolean>>} */
const images = new Map();

/**
 * Whether the image is available, after a pull if necessary; checked once. Without a reachable registry, some daemons print
 * nothing for a long time, which is treated as a failure.
 * @param {string} image
 */
export function imageAvailable(image) {
  const available = images.get(image) ?? getImage(image);
  images.set(image, available);
  return available;
}

/** @param {string} image */
async function getImage(image) {
  const isLocal = await docker(['image', 'inspect', '--format', '{{.Id}}', image], { timeoutMs: 5_000 });
  return isLocal || docker(['pull', image], { timeoutMs: 10 * 60_000, firstOutputMs: 15_000 });
}

/** An id of this clone: two clones on one machine must not share containers or volumes. */
const clone = createHash('sha256').update(root).digest('hex').slice(0, 8);

/** @param {string} name */
const containerNameOf = (name) => `fitness-${name}-${clone}`;

/** Removes containers left behind by a killed run of this clone. Their data is in volumes. @param {string[]} names */
export async function removeContainers(names) {
  if (!(await daemonAnswers())) return;
  await docker(['rm', '-f', ...names.map(containerNameOf)], { timeoutMs: 20_000 });
}

/**
 * @typedef {object} Container
 * @property {string} name
 * @property {string} image
 * @property {number} hostPort
 * @property {number} containerPort
 * @property {string} volume where the image keeps its data
 * @property {string} [hostname]
 * @property {string[]} args
 * @property {Record<string, string>} [mounts] path in the container → file or directory, mounted read-only
 */

/** The command that runs the container in the foreground, with its data in a named volume. @param {Container} container */
export function containerProcess(container) {
  const { name, image, hostPort, containerPort, volume, hostname, args, mounts = {} } = container;
  const containerName = containerNameOf(name);
  return {
    command: 'docker',
    args: [
      ...['run', '--rm', '--name', containerName, '--stop-timeout', '3', '--hostname', hostname ?? name],
      ...['-p', `127.0.0.1:${hostPort}:${containerPort}`, '-v', `${containerName}:${volume}`],
      ...Object.entries(mounts).flatMap(([target, source]) => ['-v', `${source}:${target}:ro`]),
      image,
      ...args,
    ],
    // Killing the client leaves its container running.
    cleanUp: () =>
      void spawn('docker', ['rm', '-f', containerName], { stdio: 'ignore', detached: true }).unref(),
  };
}

/** Starts the container without persistent data. Testcontainers removes it even if this process is killed. @param {Container} container */
export async function startTestContainer(container) {
  const { image, hostPort, containerPort, volume, hostname, args, mounts = {} } = container;
  const { GenericContainer } = await import('testcontainers');
  const definition = new GenericContainer(image)
    .withExposedPorts({ container: containerPort, host: hostPort })
    .withTmpFs({ [volume]: 'rw' })
    .withBindMounts(Object.entries(mounts).map(([target, source]) => ({ source, target, mode: 'ro' })));
  if (args.length > 0) definition.withCommand(args);
  if (hostname) definition.withHostname(hostname);
  const started = await definition.start();
  const id = started.getId();
  return {
    /** Keeps the container so that it can resume on the same port. */
    pause: () => docker(['stop', '-t', '5', id], { timeoutMs: 20_000 }),
    resume: () => docker(['start', id], { timeoutMs: 20_000 }),
    remove: () => started.stop({ timeout: 3_000 }),
  };
}
