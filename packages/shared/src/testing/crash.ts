/**
 * Processes that a test kills, as by `kill -9`. Used by tests only; `crash-process.ts` is their part inside the process.
 *
 * The database keeps the open transactions of a dead process, with what they have locked, until their lifetime is over
 * (a minute). The test ends exactly these sessions right after the death: what the database does itself, only sooner.
 */
import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import mongoose from 'mongoose';
import { monitored } from './commands.ts';

const INSIDE = fileURLToPath(new URL('./crash-process.ts', import.meta.url));
/** Where Node puts it by itself; every process after the first loads its modules from there. */
const COMPILE_CACHE = join(tmpdir(), 'node-compile-cache');

interface Answer {
  answers?: number;
  value?: unknown;
  error?: string;
}

export interface CrashTestProcess {
  /** The address in the log line that says "ready"; rejects when the process ends without one. */
  url(): Promise<string>;
  /** Lets one of the functions that the process has given to `answer` run there; rejects when the process dies. */
  ask<T>(name: string, ...args: unknown[]): Promise<T>;
  /** Kills it, and ends its sessions of the database once it is gone. */
  kill(): Promise<void>;
  /** Resolves when it is gone, of whatever it died, and its sessions are ended. */
  gone: Promise<void>;
}

/** The environment of a service's process: a variable for each value of its configuration. */
export const environmentOf = (config: object): NodeJS.ProcessEnv => ({
  PATH: process.env.PATH,
  NODE_COMPILE_CACHE: COMPILE_CACHE,
  ...Object.fromEntries(
    Object.entries(config).flatMap(([name, value]) => (value === undefined ? [] : [[name, String(value)]])),
  ),
});

/** Starts `program` with a service's configuration. The caller kills it. */
export const startCrashTestProcess = (
  program: string,
  config: { MONGODB_URI: string; [name: string]: unknown },
): CrashTestProcess => {
  const child = fork(program, {
    env: environmentOf(monitored(config)),
    execArgv: ['--disable-warning=ExperimentalWarning', '--import', INSIDE],
    stdio: ['ignore', 'pipe', 'inherit', 'ipc'],
  });
  const sessions = new Set<string>();
  const open = new Map<number, (message: Answer) => void>();
  child.on('message', (message: Answer & { session?: string }) => {
    if (message.session !== undefined) sessions.add(message.session);
    if (message.answers !== undefined) open.get(message.answers)?.(message);
  });
  // All that it has said is read by then.
  const ended = Promise.all([once(child, 'close'), once(child, 'disconnect')]);
  void ended.then(() => {
    for (const answer of open.values()) answer({ error: 'the process is gone' });
  });
  const gone = ended.then(() => endSessions(config.MONGODB_URI, sessions));
  const url = readyAt(child);
  // Who asks for it hears of it.
  url.catch(() => undefined);
  let lastQuestion = 0;
  return {
    url: () => url,
    ask: <T>(name: string, ...args: unknown[]) =>
      new Promise<T>((resolve, reject) => {
        lastQuestion += 1;
        open.set(lastQuestion, ({ value, error }) =>
          error === undefined ? resolve(value as T) : reject(new Error(error)),
        );
        child.send({ question: lastQuestion, name, args }, (error) => error && reject(error));
      }),
    kill: () => {
      child.kill('SIGKILL');
      return gone;
    },
    gone,
  };
};

interface Addresses {
  index: number;
  url: string;
  grpcAddress: string;
}

export interface Instance {
  url: string;
  grpcAddress: string;
  /** Runs one of the functions that the program has given to `serveInstances`. */
  work(name: string): Promise<unknown>;
  /**
   * The command that it did not get to send while it did `work`, as `<command> <collection>`; undefined when it has done
   * it, and what follows it, to the end.
   */
  heldBefore(work: Promise<unknown>): Promise<string | undefined>;
}

/** Opens an instance that stops before its `nth` command, in a process whose program calls `serveInstances`. */
export const openInstance = async ({ ask }: CrashTestProcess, nth: number): Promise<Instance> => {
  const { index, ...addresses } = await ask<Addresses>('open', nth);
  return {
    ...addresses,
    work: (name) => ask('work', index, name),
    heldBefore: (work) =>
      Promise.race([ask<string>('heldBefore', index), work.then(() => ask<undefined>('idle', index))]),
  };
};

const readyAt = (child: ChildProcess): Promise<string> =>
  new Promise((resolve, reject) => {
    child.once('close', (code, signal) => reject(new Error(`it ended with ${code ?? signal} before that`)));
    if (child.stdout === null) return;
    createInterface({ input: child.stdout }).on('line', (line) => {
      const entry = line.startsWith('{') ? (JSON.parse(line) as { msg?: string; url?: string }) : {};
      if (entry.msg === 'ready' && entry.url !== undefined) resolve(entry.url);
    });
  });

const endSessions = async (uri: string, sessions: ReadonlySet<string>): Promise<void> => {
  // Without one the command would end everybody's.
  if (sessions.size === 0) return;
  const connection = await mongoose.createConnection(uri).asPromise();
  const killSessions = [...sessions].map((hex) => ({ id: new mongoose.mongo.UUID(hex) }));
  await connection.getClient().db('admin').command({ killSessions });
  await connection.close();
};
