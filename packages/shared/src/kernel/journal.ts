/**
 * A record, outside of the databases, of changes that a restore must not undo. It is a folder with one small file for each
 * entry, which all replicas of a process share. An entry is durable before its transaction commits. Restoring an older
 * backup therefore never loses it (docs/adr/0009).
 *
 * Before the commit an entry is only `begun`, because the transaction may still fail. After the commit it is `done`. Entries
 * that a crash leaves begun are settled by comparing them with the database. Entries whose outcome only a third party knows,
 * such as the bank gateway, stay begun.
 */
import { access, constants, mkdir, open, readdir, readFile, rename, rm, statfs } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import type { z } from 'zod';
import { isAppError, unavailable } from './error.ts';
import { createFileAccess } from './file-access.ts';
import { flushDirectory } from './flush-directory.ts';

export type JournalState = 'begun' | 'done';

export interface JournalEntry<Content> {
  content: Content;
  /** Records that the transaction has committed. Repeatable. */
  markDone(): Promise<void>;
  /** Records that the transaction has not committed and never will. Repeatable. */
  withdraw(): Promise<void>;
}

export interface Journal<Content> {
  /**
   * Resolves when the entry would survive a power failure. Each attempt of a transaction begins a separate entry:
   * settling one attempt never removes the entry of another. `subject`: a number for the name of the file, or a name that is
   * unique by itself. Rejects with `unavailable` when the file system fails, has too little room or does not respond in time.
   * Until it has answered, further calls reject at once.
   */
  begin(subject: number | string, content: Content): Promise<JournalEntry<Content>>;
  /** Withdraws the entry that was begun under this name, if any. Repeatable. */
  withdraw(name: string): Promise<void>;
  /** All entries in `state`, in any order. */
  entries(state: JournalState): AsyncGenerator<JournalEntry<Content>>;
}

export interface JournalOptions<Schema extends z.ZodType> {
  /** The parent folder of all journals. */
  directory: string;
  name: string;
  schema: Schema;
  uuid: () => string;
  /** What it leaves of the volume to the other journals. Default: nothing. */
  leaves?: Room;
  /** Default: 3 s. It is short because a transaction stays open while it waits. */
  timeoutMs?: number;
  /** Called once when the file system stops responding, and again only after it has responded. */
  onSilence?: (problem: Error) => void;
  /** Replacement for tests. */
  openFile?: typeof open;
}

/** Free space of a volume. */
export interface Room {
  files: number;
  bytes: number;
}

const TIMEOUT_MS = 3_000;
/** Listing many names takes long on a network file system. */
const READ_TIMEOUT_MS = 30_000;

/** Leaves no file when it fails. */
const write = async (openFile: typeof open, path: string, text: string): Promise<void> => {
  const file = await openFile(path, 'wx', 0o600);
  try {
    await file
      .writeFile(text)
      .then(() => file.sync())
      .finally(() => file.close());
    await flushDirectory(dirname(path));
  } catch (error) {
    await rm(path, { force: true }).catch(() => undefined);
    throw error;
  }
};

/** Undefined for an entry that was settled meanwhile, or that was never completely written. */
const read = async <Schema extends z.ZodType>(
  schema: Schema,
  path: string,
  state: JournalState,
): Promise<z.output<Schema> | undefined> => {
  const text = await readFile(path, 'utf8').catch(ignoreMissing);
  // Another replica has settled it meanwhile.
  if (text === undefined) return undefined;
  const parsed = schema.safeParse(parseJson(text));
  if (parsed.success) return parsed.data;
  // The process crashed while writing it, before the commit, so the transaction has not committed.
  if (state === 'begun') return undefined;
  throw new Error(`the journal has an unreadable entry: ${path}`);
};

/**
 * Rejects when the folder is missing or cannot be written to. `mayCreate` is false where a missing parent folder means that its
 * volume is not mounted. A new folder would be lost with the container.
 */
export const openJournal = async <Schema extends z.ZodType>(
  options: JournalOptions<Schema>,
  { mayCreate }: { mayCreate: boolean },
): Promise<Journal<z.output<Schema>>> => {
  const { directory: all, name: journal, schema, uuid } = options;
  const { timeoutMs = TIMEOUT_MS, onSilence, openFile = open, leaves } = options;
  const directory = join(all, journal);
  if (!mayCreate) await assertUsable(all);
  await mkdir(directory, { recursive: true, mode: 0o700 });
  await flushDirectory(all);
  await assertUsable(directory);

  const writing = createFileAccess({ path: directory, timeoutMs, onSilence });
  const reading = createFileAccess({ path: directory, timeoutMs: READ_TIMEOUT_MS, onSilence });

  const pathOf = (name: string, state: JournalState): string => join(directory, `${name}.${state}.json`);

  const withdraw = (name: string): Promise<void> =>
    writing(async () => {
      await rm(pathOf(name, 'begun'), { force: true });
      await flushDirectory(directory);
    });

  const entryOf = (name: string, content: z.output<Schema>): JournalEntry<z.output<Schema>> => ({
    content,
    markDone: () =>
      writing(async () => {
        const [begun, done] = [pathOf(name, 'begun'), pathOf(name, 'done')];
        const isRenamed = await rename(begun, done).then(() => true, ignoreMissing);
        // The entry is already done, or a replica whose clock is ahead has withdrawn it. The commit takes precedence.
        if (!isRenamed && !(await exists(done))) {
          await write(openFile, begun, textOf(content));
          await rename(begun, done);
        }
        await flushDirectory(directory);
      }),
    withdraw: () => withdraw(name),
  });

  return {
    begin: async (subject, content) => {
      const name = typeof subject === 'string' ? subject : `${subject}-${uuid()}`;
      const begin = async (): Promise<void> => {
        if (leaves !== undefined) await assertRoom(directory, leaves);
        await write(openFile, pathOf(name, 'begun'), textOf(content));
      };
      await writing(begin).catch((error: unknown) => {
        throw isAppError(error) ? error : unavailable(`the journal ${directory} cannot be written to`, error);
      });
      return entryOf(name, content);
    },
    withdraw,
    entries: async function* (state) {
      const suffix = `.${state}.json`;
      for (const file of await reading(() => readdir(directory))) {
        if (!file.endsWith(suffix)) continue;
        const name = file.slice(0, -suffix.length);
        const content = await reading(() => read(schema, pathOf(name, state), state));
        if (content !== undefined) yield entryOf(name, content);
      }
    },
  };
};

const assertUsable = (path: string): Promise<void> =>
  access(path, constants.R_OK | constants.W_OK | constants.X_OK).catch((cause: unknown) => {
    throw new Error(`the journal ${path} is missing or cannot be written to`, { cause });
  });

const assertRoom = async (path: string, leaves: Room): Promise<void> => {
  const free = await freeRoom(path);
  if (free.files < leaves.files || free.bytes < leaves.bytes)
    throw new Error(`the journal ${path} would leave too little room to others`);
};

/** Some file systems have no limit of files. */
export const freeRoom = async (path: string): Promise<Room> => {
  const { bavail, bsize, files, ffree } = await statfs(path);
  return { files: files === 0 ? Number.POSITIVE_INFINITY : ffree, bytes: bavail * bsize };
};

const textOf = (content: unknown): string => `${JSON.stringify(content)}\n`;

const exists = (path: string): Promise<boolean> =>
  access(path).then(
    () => true,
    (error: unknown) => ignoreMissing(error) ?? false,
  );

const ignoreMissing = (error: unknown): undefined => {
  if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error;
};

const parseJson = (text: string): unknown => {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
};
