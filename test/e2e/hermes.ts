/**
 * Runs one bundle in Hermes, React Native's engine. The virtual machine has no files and no network. As in an app, a bridge provides
 * timers and requests; here the other side of the bridge is this process.
 */
import { type ChildProcess, execFile, spawn } from 'node:child_process';
import { openAsBlob, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { nodeBinary } from '../../scripts/lib/paths.mjs';

const run = promisify(execFile);

/** The preset, `fetch` and `AbortController` are those of React Native 0.76. */
const PACKAGES = [
  'hermes-engine-cli@0.12.0',
  '@react-native/babel-preset@0.76.9',
  '@babel/core@7.29.0',
  'esbuild@0.25.12',
  'whatwg-fetch@3.6.20',
  'abort-controller@3.0.0',
];

/**
 * Everything that React Native supplies and the client needs: timers, `console`, `AbortController`, `XMLHttpRequest`, `FormData` and `Blob`. Another
 * file has `fetch` with `Headers`, `Request` and `Response`. A `FormData` has parts, and a `Blob` cannot be made of bytes.
 */
const GLOBALS = `
import { AbortController, AbortSignal } from 'abort-controller/dist/abort-controller';

const waiting = new Map();
let lastId = 0;
const call = (kind, values, listener) => {
  lastId += 1;
  waiting.set(lastId, listener);
  print('@' + JSON.stringify({ ...values, kind, id: lastId }));
  return lastId;
};

class XMLHttpRequest {
  headers = {};
  open(method, url) { Object.assign(this, { method, url }); }
  setRequestHeader(name, value) { this.headers[name] = value; }
  getAllResponseHeaders() { return this.answer.headers; }
  send(body) {
    const { method, url, headers } = this;
    const sent = body instanceof FormData ? { parts: body.parts } : { body };
    this.id = call('request', { method, url, headers, ...sent }, (answer) => {
      if (answer === null) return this.onerror();
      this.answer = answer;
      Object.assign(this, { status: answer.status, statusText: '', responseText: answer.text });
      this.onload();
    });
  }
  abort() {
    waiting.delete(this.id);
    this.onabort();
  }
}
class FormData {
  parts = [];
  append(name, value) { this.parts.push({ name, value }); }
}
class Blob {}

Object.assign(globalThis, {
  AbortController, AbortSignal, XMLHttpRequest, FormData, Blob,
  console: { assert: () => undefined, error: print, log: print, warn: print },
  setTimeout: (listener, ms) => call('timer', { ms }, listener),
  clearTimeout: (id) => waiting.delete(id),
  receive: (id, value) => {
    const listener = waiting.get(id);
    waiting.delete(id);
    if (listener !== undefined) listener(value);
  },
  finish: (result) => call('finish', { result }),
});
`;

const ENTRY = `
import './globals.js';
import 'whatwg-fetch';
import { use } from './use.js';
use(INPUT).then(finish, (error) => finish({ failed: String(error.stack) }));
`;

/** Metro transforms each module with the preset; here it transforms the whole bundle. */
const BUNDLE = `
const { buildSync } = require('esbuild');
const { transformSync } = require('@babel/core');
const { outputFiles: [bundle] } = buildSync({ entryPoints: ['entry.js'], bundle: true, format: 'iife', write: false });
const { code } = transformSync(bundle.text, {
  presets: [['@react-native/babel-preset', { unstable_transformProfile: 'hermes-stable', enableBabelRuntime: false }]],
  babelrc: false, configFile: false, sourceType: 'script', compact: false,
});
process.stdout.write(code);
`;

/** `use` is the text of a module that exports `use(input)`. Resolves with its result. */
export const runInHermes = async (project: string, use: string, input: object): Promise<unknown> => {
  const files = {
    'globals.js': GLOBALS,
    'entry.js': ENTRY,
    'bundle.cjs': BUNDLE,
    'use.js': use,
  };
  for (const [name, text] of Object.entries(files)) writeFileSync(join(project, name), text);
  await run('npm', ['install', '--no-audit', '--no-fund', ...PACKAGES], { cwd: project });
  const { stdout: bundle } = await run(nodeBinary, ['bundle.cjs'], { cwd: project, maxBuffer: 1e8 });
  const program = `var INPUT = ${JSON.stringify(input)};\n${bundle}`;
  const hermes = spawn(join(project, 'node_modules/hermes-engine-cli/linux64-bin/hermes'));
  try {
    return await serve(hermes, program);
  } finally {
    hermes.kill('SIGKILL');
  }
};

interface Call {
  kind: 'finish' | 'request' | 'timer';
  id: number;
  result: unknown;
  ms: number;
}

/** Hermes reads a line, runs it and everything it has made ready, and reads the next line. */
const serve = (hermes: ChildProcess, program: string): Promise<unknown> =>
  new Promise((resolve, reject) => {
    const { stdin, stdout, stderr } = hermes;
    if (stdin === null || stdout === null || stderr === null) throw new Error('Hermes has no pipes');
    const receive = (id: number, value: unknown): void => {
      if (!stdin.destroyed) stdin.write(`receive(${id}, ${JSON.stringify(value)})\n`);
    };
    stdin.on('error', reject);
    const output: string[] = [];
    const listen = (line: string): void => {
      const text = /@(\{.*\})$/.exec(line)?.[1];
      if (text === undefined) {
        output.push(line);
        if (line.includes('Uncaught')) setTimeout(() => hermes.kill(), 100);
        return;
      }
      const call: Call & Sent = JSON.parse(text);
      if (call.kind === 'finish') resolve(call.result);
      else if (call.kind === 'timer') setTimeout(receive, call.ms, call.id, null).unref();
      else
        void send(call).then(
          (answer) => receive(call.id, answer),
          () => receive(call.id, null),
        );
    };
    createInterface(stdout).on('line', listen);
    createInterface(stderr).on('line', listen);
    hermes.once('exit', () => reject(new Error(`Hermes ended: ${output.join('\n')}`)));
    stdin.write(`(0, eval)(${JSON.stringify(program)})\n`);
  });

interface Sent {
  method: string;
  url: string;
  headers: Record<string, string>;
  body?: string;
  parts?: { name: string; value: string | { uri: string; name: string; type: string } }[];
}

const send = async ({ method, url, headers, body, parts }: Sent): Promise<object> => {
  const response = await fetch(url, {
    method,
    headers,
    ...(parts === undefined ? {} : { body: await formOf(parts) }),
    ...(body === undefined ? {} : { body }),
  });
  return {
    status: response.status,
    headers: [...response.headers].map(([name, value]) => `${name}: ${value}\r\n`).join(''),
    text: await response.text(),
  };
};

const formOf = async (parts: NonNullable<Sent['parts']>): Promise<FormData> => {
  const form = new FormData();
  for (const { name, value } of parts) {
    if (typeof value === 'string') form.append(name, value);
    else {
      const file = await openAsBlob(fileURLToPath(value.uri), { type: value.type });
      form.append(name, file, value.name);
    }
  }
  return form;
};
