/** Jest's globalSetup for the tests of docker-compose.yml. */
import { localImages } from '../servers/local-images.mjs';
import { prepare } from './prepare.mjs';

/** @param {unknown} _config @param {import('./prepare.mjs').Project} project */
export default function findImages(_config, project) {
  return prepare(project, async (run) => Object.assign(process.env, await localImages(run)));
}
