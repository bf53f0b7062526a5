import { execFile } from 'node:child_process';
import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { Failure } from '../failure.mjs';
import { cacheDirectory } from '../paths.mjs';
import { runTool } from '../supervisor.mjs';
import { findOrInstall } from './apt.mjs';
import { daemonAnswers, imageAvailable } from './docker.mjs';
import { images } from './images.mjs';

/** The releases that the deployments pin; the newest servers of a test are not older. */
const newest = { RabbitMQ: [4, 3], Redis: [8, 0] };

/** @param {readonly number[]} least @param {string} version */
function isAtLeast(least, version) {
  const [major = 0, minor = 0] = version.split('.').map(Number);
  const [leastMajor = 0, leastMinor = 0] = least;
  return major > leastMajor || (major === leastMajor && minor >= leastMinor);
}

/**
 * Selects the newest RabbitMQ and Redis for all later starts: Docker images, or programs on the PATH if they are new
 * enough. Otherwise those of Debian's testing suite are installed in a separate root directory and put first on the PATH.
 * @param {import('./apt.mjs').InstallContext} context
 */
export async function useNewestServers(context) {
  if (
    (await daemonAnswers()) &&
    (await imageAvailable(images.redis)) &&
    (await imageAvailable(images.rabbitmq))
  )
    return;
  if (await areNewOnPath()) return;
  const { bin } = await ensureDebianRoot(context);
  process.env.PATH = `${bin}:${process.env.PATH}`;
}

async function areNewOnPath() {
  const versions = [
    { least: newest.Redis, answer: await output('redis-server', ['--version']), pattern: /v=([\d.]+)/ },
    { least: newest.RabbitMQ, answer: await output('rabbitmqctl', ['version']), pattern: /^([\d.]+)/m },
  ];
  return versions.every(({ least, answer, pattern }) => isAtLeast(least, pattern.exec(answer)?.[1] ?? '0'));
}

/** The output of a short command; empty if it fails or does not exist. @param {string} command @param {string[]} args */
async function output(command, args) {
  try {
    return (await promisify(execFile)(command, args, { timeout: 30_000 })).stdout;
  } catch {
    return '';
  }
}

function isRootOnDebian() {
  const release = existsSync('/etc/os-release') ? readFileSync('/etc/os-release', 'utf8') : '';
  return process.getuid?.() === 0 && /^ID=debian$/m.test(release);
}

/** Paths of the programs in the root directory. */
const programs = {
  'redis-server': '/usr/bin/redis-server',
  'redis-cli': '/usr/bin/redis-cli',
  // Debian's wrapper would call this script as another user.
  'rabbitmq-server': '/usr/lib/rabbitmq/bin/rabbitmq-server',
  epmd: '/usr/bin/epmd',
};

/**
 * Runs a program with the root directory as its file system, where it finds the tests' temporary directories and its own
 * processes. The mounts end with the program. It receives the signals, because each command is replaced by the next.
 * @param {string} root @param {string} program
 */
const wrapper = (root, program) => `#!/bin/sh
exec unshare --mount --propagation private sh -c '
  mount --bind /proc "$0/proc" && mount --rbind /dev "$0/dev" && mount --bind "\${TMPDIR:-/tmp}" "$0\${TMPDIR:-/tmp}" &&
    exec chroot "$0" "$@"' '${root}' ${program} "$@"
`;

/**
 * @param {import('./apt.mjs').InstallContext} context
 * @returns {Promise<{ root: string, bin: string }>} bin: the directory of its programs
 */
export async function ensureDebianRoot(context) {
  const { supervisor, logDirectory, log } = context;
  if (!isRootOnDebian())
    throw new Failure(
      `RabbitMQ ${newest.RabbitMQ.join('.')} and Redis ${newest.Redis.join('.')} are not available here: Docker cannot get their images, the PATH has none, and only root on Debian can install them in a separate root directory.`,
    );
  const directory = cacheDirectory('debian-forky');
  const root = join(directory, 'root');
  const bin = join(directory, 'bin');
  const complete = join(directory, 'complete');
  if (existsSync(complete)) return { root, bin };
  log('RabbitMQ and Redis: installing those of Debian’s testing suite into a private root (once)');
  const command = await findOrInstall(context, 'debootstrap');
  if (!command) throw new Failure('apt-get could not install debootstrap.');
  // An interrupted attempt may have left an incomplete directory.
  rmSync(root, { recursive: true, force: true });
  const logFile = join(logDirectory, 'debootstrap.log');
  const args = [
    ...['--variant=minbase', '--include=redis-server,rabbitmq-server', 'forky', root, await mirror()],
    // An older debootstrap does not know the suite's name.
    '/usr/share/debootstrap/scripts/sid',
  ];
  const launch = { name: 'debootstrap', command, args, logFile, timeoutMs: 10 * 60_000 };
  if (!(await runTool(supervisor, launch)))
    throw new Failure(`RabbitMQ and Redis of Debian’s testing suite could not be installed: ${logFile}`);
  writeFileSync(join(root, 'etc/hosts'), '127.0.0.1 localhost\n');
  mkdirSync(bin, { recursive: true });
  for (const [name, program] of Object.entries(programs))
    writeFileSync(join(bin, name), wrapper(root, program), { mode: 0o755 });
  writeFileSync(complete, '');
  return { root, bin };
}

/** The mirror that apt uses. */
async function mirror() {
  const indexes = await output('apt-get', ['indextargets', '--format', '$(ORIGIN) $(COMPONENT) $(REPO_URI)']);
  const address = /^Debian main (http\S+)$/m.exec(indexes)?.[1];
  if (!address) throw new Failure('apt-get names no mirror of Debian.');
  return address;
}
