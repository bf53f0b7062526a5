/**
 * `node scripts/run.mjs [--include=dev] <script or program> [arguments]`: runs it with the project's own Node. Missing packages are
 * installed first, so every command in package.json works in a fresh clone. With `--include=dev`, these include the packages for
 * development. This file is plain JavaScript without packages.
 */
import { runInProject } from './lib/project-node.mjs';

const [, , ...args] = process.argv;
const development = args[0] === '--include=dev';
await runInProject(development ? args.slice(1) : args, { development });
