/**
 * Loaded first in a crash-test process, by `startCrashTestProcess` of crash.ts. It reports the database sessions with
 * transactions to the test, and serves its requests.
 */
import { EventEmitter, once } from 'node:events';
import { createRequire, flushCompileCache } from 'node:module';
import { setImmediate as nextTick } from 'node:timers/promises';
import mongoose, { type Connection, type mongo } from 'mongoose';

const send = (message: object): void => void process.send?.(message);

const reported = new Set<string>();
const report = ({ command }: mongo.CommandStartedEvent): void => {
  const session = command.autocommit === false ? command.lsid.id.toString('hex') : undefined;
  if (session === undefined || reported.has(session)) return;
  reported.add(session);
  send({ session });
};

const { events } = mongoose as unknown as { events: NodeJS.EventEmitter };
events.on('createConnection', (connection: Connection) =>
  connection.once('connected', () => {
    connection.getClient().on('commandStarted', report);
    // Node writes it at exit, which a killed process does not reach.
    flushCompileCache();
  }),
);

type Handlers = Record<string, (...args: never[]) => unknown>;

/** Serves the requests of the test by these functions. */
export const answer = (handlers: Handlers): void => {
  process.on('message', async ({ request, name, args }: { request: number; name: string; args: never[] }) => {
    try {
      send({ answers: request, value: await handlers[name]?.(...args) });
    } catch (error) {
      send({ answers: request, error: String((error as Error).stack) });
    }
  });
};

/** Iterations of the event loop after which work that continues has sent its next command. */
const QUIET_TICKS = 3;
const NEVER = new Promise<never>(() => undefined);

/** Request ids of commands that are not sent. */
const heldBack = new Set<number>();
interface Writer {
  writeCommand(message: { requestId: number }, options: unknown): Promise<void>;
}
/** The driver emits `commandStarted` right before it writes, and has no hook to hold a command back. */
const driver = createRequire(createRequire(import.meta.url).resolve('mongoose'))(
  'mongodb/lib/cmap/connection.js',
) as { Connection: { prototype: Writer } };
const { writeCommand } = driver.Connection.prototype;
if (typeof writeCommand !== 'function') throw new Error('the driver sends its commands in another way');
driver.Connection.prototype.writeCommand = function (message, options) {
  return heldBack.has(message.requestId) ? NEVER : writeCommand.call(this, message, options);
};

/** The outbox relay works independently of the request. */
const isInBackground = ({ commandName, command }: mongo.CommandStartedEvent): boolean => {
  const collection = command[commandName];
  return collection === 'relay_leases' || (collection === 'outbox' && command.autocommit !== false);
};

/** Holds back the `nth` command of these connections, counted from now, and all later ones. */
const holdCommands = (connections: readonly Connection[], nth: number) => {
  const pending = new Set<number>();
  const answers = new EventEmitter();
  let left = nth;
  let holdFrom: (command: string) => void = () => undefined;
  const heldBefore = new Promise<string>((resolve) => {
    holdFrom = resolve;
  });
  const started = (event: mongo.CommandStartedEvent): void => {
    const { commandName, command, requestId } = event;
    if (!isInBackground(event)) {
      left -= 1;
      pending.add(requestId);
      const collection = command[commandName];
      if (left === 0) holdFrom(typeof collection === 'string' ? `${commandName} ${collection}` : commandName);
    }
    if (left <= 0) heldBack.add(requestId);
  };
  const ended = ({ requestId }: { requestId: number }): void => {
    pending.delete(requestId);
    answers.emit('answer');
  };
  for (const connection of connections) {
    const client = connection.getClient();
    client.on('commandStarted', started).on('commandSucceeded', ended).on('commandFailed', ended);
  }
  /** Resolves when no command is pending and no other one follows. */
  const idle = async (): Promise<void> => {
    for (let quietTicks = 0; quietTicks < QUIET_TICKS; quietTicks += 1) {
      if (pending.size > 0) {
        await once(answers, 'answer');
        quietTicks = -1;
      }
      await nextTick();
    }
  };
  return { heldBefore, idle };
};

/**
 * Opens instances of a service on request. The n-th command of an instance and all later ones are never sent. So when the
 * process is killed, each of its instances crashes right before its own n-th command.
 */
export const serveInstances = <Instance extends { url: string; grpcAddress: string; idle?(): Promise<void> }>(
  start: () => Promise<Instance>,
  work: Record<string, (instance: Instance) => Promise<unknown>> = {},
): void => {
  const instances: { instance: Instance; commands: ReturnType<typeof holdCommands> }[] = [];
  const at = (index: number) => {
    const instance = instances[index];
    if (instance === undefined) throw new Error(`there is no instance ${index}`);
    return instance;
  };
  // One at a time, so that new connections belong to the instance that is starting.
  let opening: Promise<unknown> = Promise.resolve();
  const open = async (nth: number) => {
    const others = new Set(mongoose.connections);
    const instance = await start();
    const connections = mongoose.connections.filter((connection) => !others.has(connection));
    instances.push({ instance, commands: holdCommands(connections, nth) });
    return { index: instances.length - 1, url: instance.url, grpcAddress: instance.grpcAddress };
  };
  answer({
    open: (nth: number) => {
      const opened = opening.then(() => open(nth));
      opening = opened.catch(() => undefined);
      return opened;
    },
    heldBefore: (index: number) => at(index).commands.heldBefore,
    idle: async (index: number) => {
      const { instance, commands } = at(index);
      await instance.idle?.();
      await commands.idle();
    },
    work: (index: number, name: string) => work[name]?.(at(index).instance),
  });
};
