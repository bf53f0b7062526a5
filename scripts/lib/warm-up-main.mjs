/**
 * Run by warm-up.mjs in a separate process. It loads the sources of all processes without running them,
 * which stores their compiled code in NODE_COMPILE_CACHE.
 */
import { flushCompileCache } from 'node:module';
import { dirname, join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { processes } from './process-definitions.mjs';

const mains = processes.map(({ main }) => main);
const statements = mains.map((main) => `import ${JSON.stringify(pathToFileURL(main).href)};`);
// All imports are compiled before the first one is evaluated, which ends the evaluation with an error.
const source = `import "data:text/javascript,throw 'loaded'"; ${statements.join(' ')}`;
const ignored = () => {};
await import(`data:text/javascript,${encodeURIComponent(source)}`).catch(ignored);
// CommonJS packages are compiled only when evaluated. Composition roots start nothing by themselves.
for (const main of mains) {
  await import(pathToFileURL(join(dirname(main), 'service.ts')).href).catch(ignored);
}
flushCompileCache();
process.exit();
