/** Jest's globalSetup for a run that is started by an editor or npx. `npm test` prepares its own runs. */
import { join } from 'node:path';
import { explain } from '../explain.mjs';
import { dataDirectory } from '../paths.mjs';
import { ensureChromium } from '../servers/chromium.mjs';
import { localImages } from '../servers/local-images.mjs';
import { createTestRun, mayRunTestsIn } from '../test-run.mjs';

/** Logs to stderr, since stdout belongs to jest. @param {string} line */
const log = (line) => console.error(line);

/** @type {import('../test-run.mjs').TestRun | undefined} */
let run;
/** @type {Promise<import('../servers/index.mjs').Servers> | undefined} */
let servers;

/** Ends everything that was started. */
export async function end() {
  const ended = run;
  [run, servers] = [undefined, undefined];
  await ended?.end();
}

/** The variables of a kind of tests, whose servers are started first. @param {string | undefined} kind @param {string[]} patterns */
async function prepare(kind, patterns) {
  run ??= createTestRun({ logDirectory: join(dataDirectory, 'test-logs', 'jest'), log });
  if (kind === 'compose') return localImages(run);
  const chromium = kind === 'service' ? undefined : await ensureChromium(run);
  const variables = { ...run.variables(), ...(chromium ? { TEST_CHROMIUM: chromium } : {}) };
  servers ??= run.startServers('jest', { withS3: mayRunTestsIn('services/media/test', patterns) });
  const { environment } = await servers;
  if (kind === 'service' || kind === 'long') return { ...environment, ...variables };
  return { ...(await run.startProduct('product', await servers)).environment, ...variables };
}

/**
 * @param {import('@jest/types').Config.GlobalConfig} config
 * @param {Pick<import('@jest/types').Config.ProjectConfig, 'displayName'>} project
 */
export default async function setUp({ testPathPatterns }, { displayName }) {
  if (process.env.TEST_RESULTS !== undefined) return;
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'])
    process.on(signal, () => void end().then(() => process.exit(130)));
  try {
    Object.assign(process.env, await prepare(displayName?.name, testPathPatterns.patterns));
  } catch (error) {
    log(explain('jest', error));
    await end();
    process.exit(1);
  }
}
