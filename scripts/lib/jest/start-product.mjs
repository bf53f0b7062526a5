/** Jest's globalSetup for the tests of the whole product. */
import { startStack } from '../stack.mjs';
import { prepare } from './prepare.mjs';

/** @param {unknown} _config @param {import('./prepare.mjs').Project} project */
export default function startProduct(_config, project) {
  return prepare(project, async ({ startServers, ...run }) => {
    const stack = await startStack({ ...run, servers: await startServers() });
    run.removals.push(stack.close);
    process.env.E2E_BASE_URL = stack.url;
    process.env.E2E_SANDBOX_URL = stack.sandboxUrl;
    process.env.E2E_STACK = stack.file;
  });
}
