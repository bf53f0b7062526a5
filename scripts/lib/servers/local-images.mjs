import { copyFileSync, cpSync, existsSync, mkdirSync, mkdtempSync, realpathSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { delimiter, dirname, join } from 'node:path';
import { Failure } from '../failure.mjs';
import { findExecutable, nodeBinary, root } from '../paths.mjs';
import { runTool } from '../supervisor.mjs';
import { imageAvailable } from './docker.mjs';
import { images } from './images.mjs';
import { copyStandIn } from './mongodb.mjs';
import { ensureDebianRoot } from './newest.mjs';

const directory = join(root, 'test/compose/images');
const names = ['node', 'redis', 'rabbitmq', 'haproxy', 'mongodb'];

/**
 * Builds the images of docker-compose.yml from Debian's testing suite if no registry can be reached.
 * @param {import('./apt.mjs').InstallContext} context
 * @returns {Promise<NodeJS.ProcessEnv>} the variables that select the images in docker-compose.yml; empty if a registry answers
 */
export async function localImages(context) {
  if (await imageAvailable(images.redis)) return {};
  const { root: debian } = await ensureDebianRoot(context);
  context.log('Docker gets no images: building those of docker-compose.yml from Debian’s testing suite');
  const folder = mkdtempSync(join(tmpdir(), 'fitness-images-'));
  try {
    await collect(context, folder);
    await run(context, 'sh', ['-c', 'tar -C "$0" -c . | docker import - fitness-debian', debian]);
    for (const name of names)
      await run(context, 'docker', ['build', '--target', name, '--tag', imageOf(name), folder]);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
  return {
    ...Object.fromEntries(names.map((name) => [`${name.toUpperCase()}_IMAGE`, imageOf(name)])),
    COMPOSE_FILE: ['docker-compose.yml', 'test/compose/images/stand-in.yaml'].join(delimiter),
  };
}

/** @param {string} name */
const imageOf = (name) => `fitness-local-${name}`;

/** @param {import('./apt.mjs').InstallContext} context @param {string} folder */
async function collect(context, folder) {
  cpSync(directory, folder, { recursive: true });
  copyFileSync(nodeBinary, join(folder, 'node'));
  const npm = findExecutable('npm');
  if (!npm) throw new Failure('There is no npm on the PATH.');
  cpSync(dirname(dirname(realpathSync(npm))), join(folder, 'npm'), { recursive: true });
  // This machine may use a proxy whose certificates are signed by a private authority.
  const certificates = '/etc/ssl/certs/ca-certificates.crt';
  if (!existsSync(certificates)) throw new Failure(`${certificates} is missing.`);
  copyFileSync(certificates, join(folder, 'certificates.pem'));
  await copyStandIn(context, join(folder, 'secantus'));
}

/**
 * @param {Pick<import('./candidate.mjs').Context, 'supervisor' | 'logDirectory'>} context
 * @param {string} command
 * @param {string[]} args
 */
async function run({ supervisor, logDirectory }, command, args) {
  mkdirSync(logDirectory, { recursive: true });
  const logFile = join(logDirectory, 'images.log');
  if (!(await runTool(supervisor, { name: command, command, args, logFile, append: true })))
    throw new Failure(`The images could not be built: ${logFile}`);
}
