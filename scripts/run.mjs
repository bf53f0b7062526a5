/**
 * `node scripts/run.mjs <script or program> [arguments]`: runs it by the project's own Node. The packages are installed before,
 * when they are not, so that each command of package.json works in a fresh clone. Plain JavaScript without packages.
 */
import { runInProject } from './lib/project-node.mjs';

await runInProject(process.argv.slice(2));
