/**
 * Processes that a test kills by SIGKILL. `crash-process.ts` is the part inside the process.
 *
 * The database keeps the open transactions of a killed process, with their locks, for a minute. The test ends exactly
 * these sessions at once: what the database would do later.
 */
import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import mongoose from 'mongoose';
import { monitored } from './commands.ts';

const CRASH_PROCESS_MODULE = fileURLToPath(new URL('./crash-process.ts', import.meta.url));
/** Node's default; every process after the first one loads its modules from it. */
export const COMPILE_CACHE = join(tmpdir(), 'node-compile-cache');

interface Answer {
  answers?: number;
  value?: unknown;
  error?: string;
}

export interface CrashTestProcess {
  /** The URL in the log line "ready"; rejects when the process ends before. */
  url(): Promise<string>;
  /** Runs a function that the process has given to `answer`; rejects when the process ends. */
  ask<T>(name: string, ...args: unknown[]): Promise<T>;
  /** Kills the process, then ends its database sessions. `leaveSessions`: what a real crash leaves. */
  kill(options?: { leaveSessions: boolean }): Promise<void>;
  /** Resolves when the process has ended and its database sessions as well. */
  gone: Promise<void>;
}

/** The configuration of a service as environment variables. */
export const environmentOf = (config: object): NodeJS.ProcessEnv => ({
  PATH: process.env.PATH,
  NODE_COMPILE_CACHE: COMPILE_CACHE,
  ...Object.fromEntries(
    Object.entries(config).flatMap(([name, value]) => (value === undefined ? [] : [[name, String(value)]])),
  ),
});

/** Starts `program` with the configuration of a service. The caller kills it. */
export const startCrashTestProcess = (
  program: string,
  config: { MONGODB_URI: string; [name: string]: unknown },
): CrashTestProcess => {
  const child = fork(program, {
    env: environmentOf(monitored(config)),
    execArgv: ['--disable-warning=ExperimentalWarning', '--import', CRASH_PROCESS_MODULE],
    stdio: ['ignore', 'pipe', 'inherit', 'ipc'],
  });
  const sessions = new Set<string>();
  const open = new Map<number, (message: Answer) => void>();
  child.on('message', (message: Answer & { session?: string }) => {
    if (message.session !== undefined) sessions.add(message.session);
    if (message.answers !== undefined) open.get(message.answers)?.(message);
  });
  // After `close` and `disconnect` all output and messages have been read.
  const ended = Promise.all([once(child, 'close'), once(child, 'disconnect')]);
  void ended.then(() => {
    for (const answer of open.values()) answer({ error: 'the process is gone' });
  });
  let leavesSessions = false;
  const gone = ended.then(() => (leavesSessions ? undefined : endSessions(config.MONGODB_URI, sessions)));
  const url = readyAt(child);
  // Without this handler a test that does not await it would end with an unhandled rejection.
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
        child.send({ request: lastQuestion, name, args }, (error) => error && reject(error));
      }),
    kill: ({ leaveSessions } = { leaveSessions: false }) => {
      leavesSessions ||= leaveSessions;
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
  /** Runs a function that the program has given to `serveInstances`. */
  work(name: string): Promise<unknown>;
  /**
   * The command that was held back during `work`, as `<command> <collection>`; undefined when `work` and what follows it
   * came to their end.
   */
  heldBefore(work: Promise<unknown>): Promise<string | undefined>;
}

/** Opens an instance that holds back its `nth` command, in a process that calls `serveInstances`. */
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
  // With an empty list `killSessions` ends the sessions of all clients.
  if (sessions.size === 0) return;
  const connection = await mongoose.createConnection(uri).asPromise();
  const killSessions = [...sessions].map((hex) => ({ id: new mongoose.mongo.UUID(hex) }));
  await connection.getClient().db('admin').command({ killSessions });
  await connection.close();
};
