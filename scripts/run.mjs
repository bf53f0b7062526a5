/**
 * `node scripts/run.mjs <script or program> [arguments]`: runs it with the project's own Node. Missing packages are installed first,
 * so every command in package.json works in a fresh clone. This file is plain JavaScript without packages.
 */
import { runInProject } from './lib/project-node.mjs';

await runInProject(process.argv.slice(2));
