/**
 * A TCP proxy between a process and its database. At a chosen command it does one of three things:
 * - It cuts all connections and refuses new ones until the test restores it, like a network failure or a killed database.
 * - It holds the command, like a slow database.
 * - It answers the command itself, like a database that refuses it.
 */
import { connect, createServer, type Socket } from 'node:net';
import mongoose from 'mongoose';

type Document = Record<string, unknown>;

/** `before`: the server does not get the command. `after`: it has executed it, and its response is lost. */
export type Side = 'before' | 'after';

/** A response in the place of the database. */
interface FakeAnswer {
  fits: (command: string, collection: string) => boolean;
  /** The document of the response. */
  answer: Document;
  /** Whether the database executes the command first. Default false. */
  isExecuted?: boolean | undefined;
  /** How many commands get this response. Default all, until `restore`. */
  times?: number | undefined;
  /** Whether to answer commands that a process sends in the background, such as `killSessions`. Default false. */
  inBackground?: boolean | undefined;
}

export interface MongoProxy {
  /** The address of the database through this proxy. */
  uri: string;
  /** Cuts at the first command that fits. Resolves with `<command> <collection>` when that has happened. */
  cutAt(fits: (command: string, collection: string) => boolean, side?: Side): Promise<string>;
  /** Keeps the first command that fits until `restore`. Resolves like `cutAt`. */
  holdAt(fits: (command: string, collection: string) => boolean): Promise<string>;
  /** Answers the commands that fit. Returns a function that counts them, including those that the database answered itself. */
  answerAt(fake: FakeAnswer): () => number;
  /** Accepts connections again, passes on what was held, and no longer cuts connections or answers commands. */
  restore(): void;
  close(): Promise<void>;
}

const HEADER_BYTES = 16;
const OP_MSG = 2013;
/** Header, flags and the kind of the first section. */
const BODY_AT = HEADER_BYTES + 5;

/** Sent by the driver itself, or in the background whatever the service does. */
const BACKGROUND = new Set([
  'hello',
  'ismaster',
  'isMaster',
  'ping',
  'endSessions',
  'killSessions',
  'killCursors',
]);

interface Command {
  name: string;
  collection: string;
  requestId: number;
}

/** The command of a message; undefined for what is sent in the background, unless `inBackground`. */
const commandOf = (message: Buffer, inBackground = false): Command | undefined => {
  if (message.readInt32LE(12) !== OP_MSG) return undefined;
  const end = BODY_AT + message.readInt32LE(BODY_AT);
  const document = mongoose.mongo.BSON.deserialize(message.subarray(BODY_AT, end)) as Document;
  const [name = '', value] = Object.entries(document)[0] ?? [];
  const collection = typeof value === 'string' ? value : '';
  // The relay reads and empties the outbox outside of transactions.
  const isRelay =
    collection === 'outbox' && document.autocommit !== false && (name === 'find' || name === 'delete');
  const isBackground = BACKGROUND.has(name) || collection === 'relay_leases' || isRelay;
  if (isBackground && !inBackground) return undefined;
  return { name, collection, requestId: message.readInt32LE(4) };
};

/** Calls `take` with each whole message of a stream. */
const splitMessages = (take: (message: Buffer) => void): ((chunk: Buffer) => void) => {
  let rest = Buffer.alloc(0);
  return (chunk) => {
    rest = Buffer.concat([rest, chunk]);
    while (rest.length >= HEADER_BYTES && rest.length >= rest.readInt32LE(0)) {
      const length = rest.readInt32LE(0);
      const message = rest.subarray(0, length);
      rest = rest.subarray(length);
      take(message);
    }
  };
};

/** The message that answers the request of this id. */
const replyTo = (requestId: number, document: Document): Buffer => {
  const body = mongoose.mongo.BSON.serialize(document);
  const head = Buffer.alloc(BODY_AT);
  head.writeInt32LE(BODY_AT + body.length, 0);
  head.writeInt32LE(requestId, 8);
  head.writeInt32LE(OP_MSG, 12);
  return Buffer.concat([head, body]);
};

interface Cut {
  fits: (command: string, collection: string) => boolean;
  side: Side | 'hold';
  done: (at: string) => void;
}

export const startMongoProxy = async (uri: string): Promise<MongoProxy> => {
  const target = new URL(uri);
  const sockets = new Set<Socket>();
  let isDown = false;
  let armed: Cut | undefined;

  let release = (): void => undefined;
  let answering: { fake: FakeAnswer; sent: number } | undefined;

  /** What this command gets instead of the response of the database. */
  const fakeAnswerTo = (command: Command): FakeAnswer | undefined => {
    if (answering === undefined || !answering.fake.fits(command.name, command.collection)) return undefined;
    answering.sent += 1;
    return answering.sent > (answering.fake.times ?? Number.POSITIVE_INFINITY) ? undefined : answering.fake;
  };

  const report = (cut: Cut, { name, collection }: Command): void =>
    cut.done(collection === '' ? name : `${name} ${collection}`);
  const cutAll = (cut: Cut, command: Command): void => {
    isDown = true;
    armed = undefined;
    for (const socket of sockets) socket.destroy();
    report(cut, command);
  };

  const server = createServer((client) => {
    if (isDown) return void client.destroy();
    const database = connect(Number(target.port || 27_017), target.hostname);
    /** The command whose response is to be lost. */
    let awaited: { cut: Cut; command: Command } | undefined;
    /** Request id → what its sender gets instead of the response. */
    const replaced = new Map<number, Document>();
    for (const socket of [client, database]) {
      sockets.add(socket);
      socket.setNoDelay(true);
      socket.on('error', () => undefined);
      socket.once('close', () => {
        sockets.delete(socket);
        client.destroy();
        database.destroy();
      });
    }
    client.on(
      'data',
      splitMessages((message) => {
        const cut = armed;
        const command =
          cut === undefined && answering === undefined
            ? undefined
            : commandOf(message, answering?.fake.inBackground);
        const fake = command === undefined ? undefined : fakeAnswerTo(command);
        if (fake !== undefined && command !== undefined) {
          if (fake.isExecuted !== true) return void client.write(replyTo(command.requestId, fake.answer));
          replaced.set(command.requestId, fake.answer);
        }
        if (cut !== undefined && command !== undefined && cut.fits(command.name, command.collection)) {
          if (cut.side === 'before') return cutAll(cut, command);
          armed = undefined;
          if (cut.side === 'hold') {
            release = () => void database.write(message);
            return report(cut, command);
          }
          awaited = { cut, command };
        }
        if (!database.destroyed) database.write(message);
      }),
    );
    database.on(
      'data',
      splitMessages((message) => {
        if (awaited !== undefined && message.readInt32LE(8) === awaited.command.requestId)
          return cutAll(awaited.cut, awaited.command);
        const requestId = message.readInt32LE(8);
        const answer = replaced.get(requestId);
        replaced.delete(requestId);
        if (!client.destroyed) client.write(answer === undefined ? message : replyTo(requestId, answer));
      }),
    );
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const address = server.address();
  if (address === null || typeof address === 'string') throw new Error('no port');
  const proxied = new URL(uri);
  proxied.host = `127.0.0.1:${address.port}`;
  // Otherwise the driver would connect to the members of the replica set, past the proxy.
  proxied.searchParams.set('directConnection', 'true');

  return {
    uri: proxied.href,
    cutAt: (fits, side = 'before') =>
      new Promise((done) => {
        armed = { fits, side, done };
      }),
    holdAt: (fits) =>
      new Promise((done) => {
        armed = { fits, side: 'hold', done };
      }),
    answerAt: (fake) => {
      const current = { fake, sent: 0 };
      answering = current;
      return () => current.sent;
    },
    restore: () => {
      answering = undefined;
      release();
      release = () => undefined;
      armed = undefined;
      isDown = false;
    },
    close: async () => {
      const closed = new Promise((resolve) => server.close(resolve));
      for (const socket of sockets) socket.destroy();
      await closed;
    },
  };
};
