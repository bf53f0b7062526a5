/** Jest's globalSetup for the tests of single services. */
import { mayRunTestsIn } from '../test-servers.mjs';
import { prepare } from './prepare.mjs';

/** @param {import('@jest/types').Config.GlobalConfig} config @param {import('./prepare.mjs').Project} project */
export default function startForServices({ testPathPatterns }, project) {
  const withS3 = mayRunTestsIn('services/media/test', testPathPatterns.patterns);
  return prepare(project, ({ startServers }) => startServers(withS3));
}
