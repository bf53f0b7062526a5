/**
 * The inside of a crash-test process, loaded before anything else by `startCrashTestProcess` of crash.ts. It tells the
 * test in which sessions of the database the process has transactions, and answers the test's questions.
 */
import { EventEmitter, once } from 'node:events';
import { createRequire, flushCompileCache } from 'node:module';
import { setImmediate as turn } from 'node:timers/promises';
import mongoose, { type Connection, type mongo } from 'mongoose';

const tell = (message: object): void => void process.send?.(message);

const reported = new Set<string>();
const report = ({ command }: mongo.CommandStartedEvent): void => {
  const session = command.autocommit === false ? command.lsid.id.toString('hex') : undefined;
  if (session === undefined || reported.has(session)) return;
  reported.add(session);
  tell({ session });
};

const { events } = mongoose as unknown as { events: NodeJS.EventEmitter };
events.on('createConnection', (connection: Connection) =>
  connection.once('connected', () => {
    connection.getClient().on('commandStarted', report);
    // A process that is killed does not write it at its end.
    flushCompileCache();
  }),
);

type Handlers = Record<string, (...args: never[]) => unknown>;

/** Answers the questions of the test by running these functions. */
export const answer = (handlers: Handlers): void => {
  process.on(
    'message',
    async ({ question, name, args }: { question: number; name: string; args: never[] }) => {
      try {
        tell({ answers: question, value: await handlers[name]?.(...args) });
      } catch (error) {
        tell({ answers: question, error: String((error as Error).stack) });
      }
    },
  );
};

/** Of the event loop: what goes on after an answer has sent its next command by then. */
const QUIET_TURNS = 3;
const NEVER = new Promise<never>(() => undefined);

/** Commands that their connection is not to send. */
const held = new Set<number>();
interface Writer {
  writeCommand(message: { requestId: number }, options: unknown): Promise<void>;
}
/** The driver announces a command right before it writes it, and has no place of its own to wait there. */
const driver = createRequire(createRequire(import.meta.url).resolve('mongoose'))(
  'mongodb/lib/cmap/connection.js',
) as { Connection: { prototype: Writer } };
const { writeCommand } = driver.Connection.prototype;
if (typeof writeCommand !== 'function') throw new Error('the driver sends its commands in another way');
driver.Connection.prototype.writeCommand = function (message, options) {
  return held.has(message.requestId) ? NEVER : writeCommand.call(this, message, options);
};

/** The relay of the outbox works by itself, whatever the request does. */
const isOfRelay = ({ commandName, command }: mongo.CommandStartedEvent): boolean => {
  const collection = command[commandName];
  return collection === 'relay_leases' || (collection === 'outbox' && command.autocommit !== false);
};

/** Holds back the `nth` command from now on of these connections, and every later one. */
const holdCommands = (connections: readonly Connection[], nth: number) => {
  const underWay = new Set<number>();
  const answers = new EventEmitter();
  let left = nth;
  let holdFrom: (command: string) => void = () => undefined;
  const heldBefore = new Promise<string>((resolve) => {
    holdFrom = resolve;
  });
  const started = (event: mongo.CommandStartedEvent): void => {
    const { commandName, command, requestId } = event;
    if (!isOfRelay(event)) {
      left -= 1;
      underWay.add(requestId);
      const collection = command[commandName];
      if (left === 0) holdFrom(typeof collection === 'string' ? `${commandName} ${collection}` : commandName);
    }
    if (left <= 0) held.add(requestId);
  };
  const ended = ({ requestId }: { requestId: number }): void => {
    underWay.delete(requestId);
    answers.emit('answer');
  };
  for (const connection of connections) {
    const client = connection.getClient();
    client.on('commandStarted', started).on('commandSucceeded', ended).on('commandFailed', ended);
  }
  /** Resolves when no command is under way, and none follows those that were. */
  const idle = async (): Promise<void> => {
    for (let quietTurns = 0; quietTurns < QUIET_TURNS; quietTurns += 1) {
      if (underWay.size > 0) {
        await once(answers, 'answer');
        quietTurns = -1;
      }
      await turn();
    }
  };
  return { heldBefore, idle };
};

/**
 * Opens one instance of a service after the other, as the test asks for them. The n-th command of an instance, counted
 * from its opening on, and all after it never leave the process: as on a network that is slow to carry them. So
 * when the process is killed, each of its instances dies right before a command of its own.
 */
export const serveInstances = <Instance extends { url: string; grpcAddress: string; idle?(): Promise<void> }>(
  start: () => Promise<Instance>,
  work: Record<string, (instance: Instance) => Promise<unknown>> = {},
): void => {
  const instances: { instance: Instance; commands: ReturnType<typeof holdCommands> }[] = [];
  const at = (index: number) => {
    const found = instances[index];
    if (found === undefined) throw new Error(`there is no instance ${index}`);
    return found;
  };
  // By turns, so that the connections that come into being are those of the one that starts.
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
