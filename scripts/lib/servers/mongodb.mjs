import { cpSync, mkdirSync, readdirSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { Failure, messageOf, Stopped } from '../failure.mjs';
import { cacheDirectory, findExecutable } from '../paths.mjs';
import { dockerCandidate, processServer } from './candidate.mjs';
import { images } from './images.mjs';
import { ensurePythonScript } from './python.mjs';

/** @typedef {import('./candidate.mjs').Context} Context */

/** @param {Context} context */
const uriIn = ({ ports }) => `mongodb://127.0.0.1:${ports.mongodb}/?directConnection=true`;

/**
 * @template T
 * @param {string} uri
 * @param {number} timeoutMs
 * @param {(admin: import('mongodb').Db) => Promise<T>} work
 */
export async function withAdmin(uri, timeoutMs, work) {
  const { MongoClient } = await import('mongodb');
  const client = new MongoClient(uri, { serverSelectionTimeoutMS: timeoutMs, socketTimeoutMS: 30_000 });
  try {
    return await work(client.db('admin'));
  } finally {
    await client.close();
  }
}

/**
 * The driver is a package, so the first answer waits until it is installed.
 * @param {Context} context
 * @param {string} uri
 * @param {string} member the server's own address in the replica set
 */
function replicaSetAnswers({ packages }, uri, member) {
  const askServer = () =>
    withAdmin(uri, 500, async (admin) => {
      const hello = await admin.command({ hello: 1 });
      if (hello.isWritablePrimary && hello.setName) return true;
      // A new mongod must be initiated as a replica set of one, because transactions need a replica set.
      if (hello.isreplicaset) {
        await admin.command({ replSetInitiate: { _id: 'rs0', members: [{ _id: 0, host: member }] } });
      }
      return false;
    });
  return () =>
    Promise.resolve(packages)
      .then(askServer)
      .catch(() => false);
}

/** @param {Context} context @param {string} engine the data of one cannot be read by another */
function dataDirectory(context, engine) {
  const directory = join(context.directory, `mongodb-${engine}`);
  mkdirSync(directory, { recursive: true });
  return directory;
}

/** How long a killed process's transaction keeps its locks; a minute by default. SecantusDB has no such option. */
const transactionLifetime = ['--setParameter', 'transactionLifetimeLimitSeconds=5'];

/** @param {Context} context @param {string | undefined} command @param {string} engine */
function mongodServer(context, command, engine) {
  if (!command) return undefined;
  const directory = dataDirectory(context, engine);
  const port = String(context.ports.mongodb);
  const args = [
    ...['--replSet', 'rs0', '--bind_ip', '127.0.0.1', '--port', port, '--dbpath', directory],
    ...transactionLifetime,
    ...(context.credentials ? ['--keyFile', join(context.credentials, 'mongodb/keyfile')] : []),
  ];
  const answers = replicaSetAnswers(context, uriIn(context), `127.0.0.1:${port}`);
  return processServer(context, uriIn(context), { name: 'mongodb', command, args, cwd: directory }, answers);
}

/**
 * The stand-in, which speaks MongoDB's protocol: the last release whose wheels contain the server program. Each retryable write makes
 * it sort all remembered ones, which costs more than the write itself (ADR 16). The driver therefore sends none.
 */
const standIn = { name: 'secantusdb-0.6.0b17', requirement: 'SecantusDB==0.6.0b17', engine: 'secantusd-rs' };

/** @param {import('./apt.mjs').InstallContext} context */
const ensureStandIn = (context) =>
  ensurePythonScript(context, {
    server: 'MongoDB',
    name: standIn.name,
    requirements: [standIn.requirement],
    script: standIn.engine,
  });

/**
 * Without --sync-on-commit, a kill would lose the last acknowledged transactions. The write-ahead log is preallocated: 2 GiB by
 * default, in memory during tests.
 * @param {Context} context
 */
async function standInServer(context) {
  const program = await ensureStandIn(context);
  if (typeof program === 'string') return program;
  const directory = dataDirectory(context, standIn.engine);
  const args = [
    ...program.args,
    ...['--host', '127.0.0.1', '--port', String(context.ports.mongodb), '--storage-path', directory],
    ...['--cache-size', '512M', '--log-file-max', '128MB', '--sync-on-commit'],
    ...(context.credentials ? ['--auth'] : []),
  ];
  const uri = `${uriIn(context)}&retryWrites=false`;
  const launch = { name: 'mongodb', command: program.command, args, cwd: directory };
  return processServer(context, uri, launch, replicaSetAnswers(context, uri, ''));
}

/**
 * Copies the stand-in for an image: its program and its libraries.
 * @param {import('./apt.mjs').InstallContext} context
 * @param {string} target
 */
export async function copyStandIn(context, target) {
  const program = await ensureStandIn(context);
  if (typeof program === 'string')
    throw new Failure(`${standIn.requirement} is not available here: ${program}.`);
  const library = join(dirname(dirname(program.command)), 'lib');
  const parts = readdirSync(library, { recursive: true, encoding: 'utf8' }).filter((path) =>
    /secantusdb\.(?:scripts|libs)$/.test(path),
  );
  for (const part of parts) cpSync(join(library, part), join(target, basename(part)), { recursive: true });
}

const downloadSite = 'https://fastdl.mongodb.org';

async function downloadSiteAnswers() {
  try {
    await fetch(downloadSite, { method: 'HEAD', signal: AbortSignal.timeout(3_000) });
    return true;
  } catch {
    return false;
  }
}

/** @param {Context} context @returns {Promise<string | undefined>} the path of a mongod downloaded by mongodb-memory-server */
async function downloadMongod({ packages }) {
  const downloadDir = cacheDirectory('mongodb-binaries');
  const downloadedBefore = readdirSync(downloadDir).length > 0;
  if (!downloadedBefore && !(await downloadSiteAnswers())) return undefined;
  await packages?.catch(() => Promise.reject(new Stopped()));
  const { MongoBinary } = await import('mongodb-memory-server-core');
  return MongoBinary.getPath({ downloadDir });
}

/** @type {import('./candidate.mjs').ServerDefinition} */
export const mongodb = {
  name: 'MongoDB',
  uriVariable: 'MONGODB_URI',
  async check(uri, { packages }) {
    await packages;
    try {
      const hello = await withAdmin(uri, 5_000, (admin) => admin.command({ hello: 1 }));
      const transactions = Boolean(hello.setName) || hello.msg === 'isdbgrid';
      return transactions ? undefined : 'that MongoDB is not a replica set, so it has no transactions';
    } catch (error) {
      return `no MongoDB responds there (${messageOf(error)})`;
    }
  },
  candidates: [
    dockerCandidate(images.mongodb, (context) => ({
      name: 'mongodb',
      hostPort: context.ports.mongodb,
      containerPort: 27017,
      volume: '/data/db',
      args: ['mongod', '--replSet', 'rs0', '--bind_ip_all', ...transactionLifetime],
      uri: uriIn(context),
      answers: replicaSetAnswers(context, uriIn(context), 'localhost:27017'),
    })),
    {
      engine: 'mongod',
      title: 'mongod on the PATH',
      find: async (context) =>
        mongodServer(context, findExecutable('mongod'), 'mongod') ?? 'there is no mongod on the PATH',
    },
    {
      engine: 'mongod-download',
      title: 'mongod, downloaded by mongodb-memory-server',
      find: async (context) =>
        mongodServer(context, await downloadMongod(context), 'mongod-download') ??
        `${downloadSite} cannot be reached`,
    },
    { engine: standIn.engine, title: 'SecantusDB (from PyPI)', find: standInServer },
  ],
  advice:
    'Install MongoDB 7 or newer, or Docker, or Python 3 with its venv module and a reachable PyPI; or set MONGODB_URI to a replica set.',
};
