/**
 * What a service asks its database, and how the database would find it. Used by tests only. The service under test runs
 * as a whole, with {@link monitored} in its configuration; its connection is found by the name of its database.
 */
import mongoose, { type Connection } from 'mongoose';

type Document = Record<string, unknown>;

export interface SentCommand {
  /** `find`, `aggregate`, `insert`, `update`, `delete`, `findAndModify`, `commitTransaction`, … */
  name: string;
  /** Empty for a command that names no collection. */
  collection: string;
  inTransaction: boolean;
  command: Document;
  /** In milliseconds of `performance.now()`; the answer's is infinite while there is none. */
  sentAt: number;
  answeredAt: number;
}

/** How often somebody waited for the database: commands that are on their way together are one round trip. */
export const roundTrips = (commands: readonly SentCommand[]): number => {
  let [trips, answeredAt] = [0, Number.NEGATIVE_INFINITY];
  for (const command of commands.toSorted((one, other) => one.sentAt - other.sentAt)) {
    if (command.sentAt >= answeredAt) trips += 1;
    answeredAt = Math.max(answeredAt, command.answeredAt);
  }
  return trips;
};

export interface CommandWatch {
  /** What was sent while `work` ran, oldest first, by whichever part of the process. */
  during(work: () => Promise<unknown>): Promise<SentCommand[]>;
  /**
   * Those of the commands that would scan a collection, as texts that name them. Throws when the database shows no plan
   * of one, as that would let everything pass.
   */
  scans(commands: readonly SentCommand[]): Promise<string[]>;
}

interface Plan {
  stage?: string;
  inputStage?: Plan;
  inputStages?: Plan[];
  queryPlan?: Plan;
}

/** Whether a command, or a write in it, names its index; stand-ins of MongoDB walk a named index from end to end. */
export const namesIndex = ({ command }: SentCommand): boolean =>
  [command, ...((command.updates ?? command.deletes ?? command.ops ?? []) as Document[])].some(
    ({ hint }) => hint !== undefined,
  );

/** A configuration whose connections tell what they send. */
export const monitored = <Config extends { MONGODB_URI: string }>(config: Config): Config => {
  const separator = config.MONGODB_URI.includes('?') ? '&' : '?';
  return { ...config, MONGODB_URI: `${config.MONGODB_URI}${separator}monitorCommands=true` };
};

/** Watches the connection that this process holds to `database`. */
export const watchCommands = (database: string): CommandWatch => {
  const connection = mongoose.connections.find(
    (candidate) => candidate.name === database && candidate.getClient().options.monitorCommands,
  );
  if (connection === undefined) throw new Error(`no monitored connection to ${database}`);
  let watched: SentCommand[] | undefined;
  const underWay = new Map<number, SentCommand>();
  const client = connection.getClient();
  client.on('commandStarted', ({ commandName, command, requestId }) => {
    if (watched === undefined) return;
    const sent = toSent(commandName, command as Document);
    watched.push(sent);
    underWay.set(requestId, sent);
  });
  const answered = ({ requestId }: { requestId: number }): void => {
    const sent = underWay.get(requestId);
    if (sent !== undefined) sent.answeredAt = performance.now();
    underWay.delete(requestId);
  };
  client.on('commandSucceeded', answered);
  client.on('commandFailed', answered);
  return {
    during: async (work) => {
      const sent: SentCommand[] = [];
      watched = sent;
      try {
        await work();
      } finally {
        watched = undefined;
      }
      return sent;
    },
    scans: async (commands) => {
      const found: string[] = [];
      for (const sent of commands)
        for (const lookup of lookupsOf(sent)) {
          const stages = await stagesOf(connection, lookup);
          if (stages.includes('COLLSCAN') && !(await isServedByOneCondition(connection, lookup)))
            found.push(`${sent.name} ${sent.collection}: ${stages.join(' < ')} of ${JSON.stringify(lookup)}`);
        }
      return found;
    },
  };
};

const toSent = (name: string, command: Document): SentCommand => {
  const collection = command[name];
  return {
    name,
    collection: typeof collection === 'string' ? collection : '',
    inTransaction: command.autocommit === false,
    command: { ...command },
    sentAt: performance.now(),
    answeredAt: Number.POSITIVE_INFINITY,
  };
};

/** What a command looks up, as commands that every database explains: not each explains the lookup of a write. */
const lookupsOf = ({ name, collection, command }: SentCommand): Document[] => {
  const findIn = (where: string, filter: unknown, { sort, skip, limit, hint }: Document = {}): Document => {
    const given = Object.entries({ sort, skip, limit, hint }).filter(([, value]) => value !== undefined);
    return { find: where, filter, ...Object.fromEntries(given) };
  };
  const find = (filter: unknown, options?: Document): Document => findIn(collection, filter, options);
  switch (name) {
    case 'find':
      return [find(command.filter, command)];
    case 'update':
    case 'delete':
      return ((command.updates ?? command.deletes) as Document[]).map(({ q, hint }) => find(q, { hint }));
    case 'bulkWrite':
      return (command.ops as Document[])
        .filter(({ update, delete: removed }) => update !== undefined || removed !== undefined)
        .map(({ update, delete: removed, filter, hint }) => {
          const { ns } = (command.nsInfo as { ns: string }[])[Number(update ?? removed)] as { ns: string };
          return findIn(ns.slice(ns.indexOf('.') + 1), filter, { hint });
        });
    case 'findAndModify':
      return [find(command.query, { hint: command.hint })];
    case 'aggregate':
      return aggregateLookups(collection, command);
    default:
      return [];
  }
};

const aggregateLookups = (collection: string, { pipeline, hint }: Document): Document[] => {
  const stages = pipeline as Document[];
  const own = { aggregate: collection, pipeline, cursor: {}, ...(hint === undefined ? {} : { hint }) };
  // Over documents of its own it looks up nothing but what it joins.
  const joined = stages.flatMap(({ $lookup }) => ($lookup === undefined ? [] : [$lookup as Document]));
  const joins = joined.map(({ from, foreignField }) => ({
    find: from,
    filter: { [String(foreignField)]: 'any' },
  }));
  return collection === '' ? joins : [own, ...joins];
};

const stagesOf = async (connection: Connection, lookup: Document): Promise<string[]> => {
  const answer = await connection.db?.command({ explain: lookup, verbosity: 'queryPlanner' });
  const stages = plansIn(answer).flatMap(stagesIn);
  if (stages.length === 0) throw new Error(`the database shows no plan of ${JSON.stringify(lookup)}`);
  return stages;
};

/**
 * A database that weighs no plans against each other (MongoDB's stand-in in Python) explains a query of several
 * conditions as a scan, and reads it by the first condition that an index serves. So each is asked about alone. To name
 * an index in the query would prove nothing: a named index is walked from end to end there, and explained as a use of it.
 */
const isServedByOneCondition = async (connection: Connection, lookup: Document): Promise<boolean> => {
  const collection = lookup.find ?? lookup.aggregate;
  const pipeline = lookup.pipeline as { $match?: Document }[] | undefined;
  const filter = (lookup.filter ?? pipeline?.[0]?.$match ?? {}) as Document;
  for (const [field, condition] of Object.entries(filter)) {
    // Any bound on it: that database reads along it, and does not say so of a range.
    if (field === '_id') return true;
    if (field === '$or' && (await areAllServed(connection, collection, condition as Document[]))) return true;
    if (field.startsWith('$')) continue;
    const stages = await stagesOf(connection, { find: collection, filter: { [field]: condition } });
    if (!stages.includes('COLLSCAN')) return true;
  }
  return false;
};

/** The branches of an `$or`, each by an index of its own. */
const areAllServed = async (
  connection: Connection,
  collection: unknown,
  branches: Document[],
): Promise<boolean> => {
  for (const filter of branches)
    if (!(await isServedByOneCondition(connection, { find: collection, filter }))) return false;
  return true;
};

const plansIn = (answer: unknown): Plan[] => {
  if (typeof answer !== 'object' || answer === null) return [];
  return Object.entries(answer).flatMap(([key, value]) =>
    key === 'winningPlan' ? [value as Plan] : plansIn(value),
  );
};

const stagesIn = (plan: Plan | undefined): string[] => {
  if (plan === undefined) return [];
  const inner = [plan.queryPlan, plan.inputStage, ...(plan.inputStages ?? [])];
  return [plan.stage ?? '', ...inner.flatMap(stagesIn)];
};
