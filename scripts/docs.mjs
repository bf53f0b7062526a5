/**
 * `npm run docs` serves the documentation on DOCS_PORT (8070) of 127.0.0.1. When a page is loaded after a change, the site is
 * rebuilt. `npm run docs -- build` writes the site to `dist/docs` in the data directory.
 */
import { execFileSync } from 'node:child_process';
import { existsSync, mkdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { dirname, extname, join } from 'node:path';
import { buildSite } from './lib/docs/site.mjs';
import { dataDirectory, root } from './lib/paths.mjs';

/** @type {Readonly<Record<string, string>>} */
const TYPES = {
  '.html': 'text/html; charset=utf-8',
  '.css': 'text/css; charset=utf-8',
  '.js': 'text/javascript; charset=utf-8',
  '.json': 'application/json',
  '.txt': 'text/plain; charset=utf-8',
  '.svg': 'image/svg+xml',
  '.png': 'image/png',
  '.woff2': 'font/woff2',
};

const filesOf = () =>
  execFileSync('git', ['ls-files', '-z', '--cached', '--others', '--exclude-standard'], {
    cwd: root,
    encoding: 'utf8',
  })
    .split('\0')
    .filter((file) => file !== '' && existsSync(join(root, file)));

const build = () => buildSite({ files: filesOf(), read: (file) => readFileSync(join(root, file)) });

const write = () => {
  const { site, problems } = build();
  const target = join(dataDirectory, 'dist', 'docs');
  rmSync(target, { recursive: true, force: true });
  for (const [address, content] of site) {
    mkdirSync(dirname(join(target, address)), { recursive: true });
    writeFileSync(join(target, address), content);
  }
  for (const problem of problems) console.error(problem);
  console.log(`Wrote ${site.size} files to ${target}. Problems: ${problems.length}.`);
  process.exitCode = problems.length === 0 ? 0 : 1;
};

const serve = () => {
  const port = Number(process.env.DOCS_PORT || 8070);
  let { site } = build();
  let builtAt = Date.now();
  const isOld = () =>
    filesOf().some((file) => file.endsWith('.md') && statSync(join(root, file)).mtimeMs > builtAt);
  const server = createServer((request, response) => {
    const { pathname } = new URL(request.url ?? '/', 'http://localhost');
    const address = pathname.slice(1).replace(/(^|\/)$/, '$1index.html');
    const type = TYPES[extname(address)];
    if (type?.startsWith('text/html') && isOld()) {
      builtAt = Date.now();
      ({ site } = build());
    }
    const content = site.get(address);
    if (content === undefined || type === undefined) response.writeHead(404).end('not found\n');
    else response.writeHead(200, { 'content-type': type, 'cache-control': 'no-cache' }).end(content);
  });
  server.once('error', (error) => {
    console.error(`The documentation cannot be served: ${error.message}. DOCS_PORT chooses another port.`);
    process.exitCode = 1;
  });
  server.listen(port, '127.0.0.1', () =>
    console.log(`The documentation is at http://127.0.0.1:${port} until Ctrl-C.`),
  );
};

const [command = 'serve', ...rest] = process.argv.slice(2);
if (command === 'build' && rest.length === 0) write();
else if (command === 'serve' && rest.length === 0) serve();
else {
  console.error('usage: npm run docs [-- build]');
  process.exitCode = 64;
}
