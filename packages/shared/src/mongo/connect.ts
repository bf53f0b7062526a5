/** MongoDB connections with the settings that every store relies on. */
import mongoose, { type Connection } from 'mongoose';
import { MINUTE_MS } from '../kernel/clock.ts';
import type { Logger } from '../kernel/log.ts';
import { finishesWithin, sleep } from '../kernel/timing.ts';
import { commandRules } from './command-rules.ts';
import { assertNoContradiction, READ_CONCERN, WRITE_CONCERN } from './concerns.ts';

export type { ClientSession, Connection } from 'mongoose';

mongoose.plugin(commandRules);

const START_TIMEOUT_MS = 30_000;
const START_RETRY_MS = 250;
const SERVER_SELECTION_TIMEOUT_MS = 5_000;
const PING_TIMEOUT_MS = 2_000;
const POOL_SIZE = 50;
/**
 * How long a connection waits for the response to a command. It limits operator commands, jobs and the start of a
 * service if a server is alive but never responds. Requests and transactions end earlier. The limit is far above the
 * longest command, except the build of an index, which has no limit (`createIndex`).
 */
const ANSWER_TIMEOUT_MS = 5 * MINUTE_MS;

export interface ConnectMongoOptions {
  uri: string;
  database: string;
  log?: Logger | undefined;
  appName?: string | undefined;
  /** Maximum number of connections; further queries wait. Default 50. */
  maxPoolSize?: number | undefined;
  /** How long the database may take to come up, in milliseconds. Default 30 s. */
  startTimeoutMs?: number | undefined;
  /** How long a command waits for a database that cannot be reached, in milliseconds. Default 5 s. */
  serverSelectionTimeoutMs?: number | undefined;
}

/**
 * Marks a filter value with query operators: `{ ends_at: trusted({ $lte: now }) }`. Filters are sanitized: an operator
 * without this mark is compared as a plain value. Never use it for client input.
 */
export const trusted: typeof mongoose.trusted = (value) => mongoose.trusted(value);

/**
 * Connects to `database`, for up to 30 s because services start in parallel with their database. Rejects with the
 * driver's last error, and at once when the address contradicts the settings of a connection. Filters are strict and
 * sanitized (see {@link trusted}); only `ensureIndexes` creates indexes and collections. The caller closes the connection.
 */
export const connectMongo = async (options: ConnectMongoOptions): Promise<Connection> => {
  assertNoContradiction(options.uri);
  mongoose.set('strictQuery', true);
  mongoose.set('sanitizeFilter', true);
  const deadline = performance.now() + (options.startTimeoutMs ?? START_TIMEOUT_MS);
  for (let attempt = 1; ; attempt += 1) {
    try {
      const connection = await openOnce(options);
      logChanges(connection, options.log);
      return connection;
    } catch (error) {
      if (performance.now() >= deadline) throw error;
      if (attempt === 1) options.log?.warn({ err: error }, 'MongoDB is not reachable yet; trying again');
      await sleep(START_RETRY_MS);
    }
  }
};

const openOnce = async ({
  uri,
  database,
  appName,
  maxPoolSize,
  serverSelectionTimeoutMs,
}: ConnectMongoOptions): Promise<Connection> => {
  const connection = mongoose.createConnection(uri, {
    dbName: database,
    ...(appName === undefined ? {} : { appName }),
    autoIndex: false,
    autoCreate: false,
    // During an outage a query fails after the server selection timeout instead of being queued in memory.
    bufferCommands: false,
    maxPoolSize: maxPoolSize ?? POOL_SIZE,
    minPoolSize: 1,
    maxConnecting: 4,
    serverSelectionTimeoutMS: serverSelectionTimeoutMs ?? SERVER_SELECTION_TIMEOUT_MS,
    connectTimeoutMS: SERVER_SELECTION_TIMEOUT_MS,
    waitQueueTimeoutMS: 2 * SERVER_SELECTION_TIMEOUT_MS,
    ...(/[?&]socketTimeoutMS=[1-9]/i.test(uri) ? {} : { socketTimeoutMS: ANSWER_TIMEOUT_MS }),
    readConcern: READ_CONCERN,
    writeConcern: WRITE_CONCERN,
    readPreference: 'primary',
    // With one or more the driver repeats a commit without saying so. The response to the repeat then hides that the
    // first commit may have taken effect: an overloaded server that rejects the repeat would look like one that did
    // nothing. With none it gives `inTransaction` each response, without the label UnknownTransactionCommitResult,
    // which that does not need.
    maxAdaptiveRetries: 0,
  });
  try {
    return await connection.asPromise();
  } catch (error) {
    await connection.destroy().catch(() => undefined);
    throw error;
  }
};

const logChanges = (connection: Connection, log: Logger | undefined): void => {
  connection.on('error', (error) => log?.warn({ err: error }, 'MongoDB connection error'));
  let closing = false;
  // Emitted only when this process closes the connection.
  connection.on('disconnecting', () => {
    closing = true;
  });
  connection.on('disconnected', () => {
    if (!closing) log?.warn('MongoDB disconnected');
  });
  connection.on('reconnected', () => log?.info('MongoDB reconnected'));
};

/** Rejects when the database does not respond within 2 s. For readiness checks. */
export const pingMongo = async (connection: Connection): Promise<void> => {
  const database = connection.db;
  if (database === undefined) throw new Error('MongoDB is not connected');
  const answered = await finishesWithin(database.command({ ping: 1 }), PING_TIMEOUT_MS);
  if (!answered) throw new Error('MongoDB does not respond');
};
