/** Which documents a database command looks for. */
export type Document = Record<string, unknown>;

export interface SentCommand {
  /** `find`, `aggregate`, `insert`, `update`, `delete`, `findAndModify`, `commitTransaction`, … */
  name: string;
  /** Empty for a command without a collection. */
  collection: string;
  inTransaction: boolean;
  command: Document;
  /** `performance.now()` in milliseconds; `answeredAt` is infinite until there is a response. */
  sentAt: number;
  answeredAt: number;
}

/** The transaction fields of a command, which `explain` does not accept. */
const ENVELOPE = new Set([
  ...['lsid', 'txnNumber', 'autocommit', 'startTransaction', 'readConcern', 'writeConcern'],
  ...['$db', '$clusterTime', '$readPreference', 'maxTimeMS', 'stmtId'],
]);

const asSent = (command: Document): Document =>
  Object.fromEntries(Object.entries(command).filter(([field]) => !ENVELOPE.has(field)));

/** A single write as its own command, and as the read with the same filter. */
interface Lookup {
  command: Document;
  read: Document;
}

/** The lookups of a command. An insert has none. */
export const lookupsOf = ({ name, collection, command }: SentCommand): Lookup[] => {
  const reads = (read: Document): Lookup => ({ command: read, read });
  switch (name) {
    case 'find':
      return [reads(asSent(command))];
    case 'count':
    case 'distinct':
      return command.query === undefined ? [] : [reads({ find: collection, filter: command.query })];
    case 'update':
      return (command.updates as Document[]).map((one) => ({
        command: { update: collection, updates: [one] },
        read: readOf(collection, one),
      }));
    case 'delete':
      return (command.deletes as Document[]).map((one) => ({
        command: { delete: collection, deletes: [one] },
        read: readOf(collection, one),
      }));
    case 'bulkWrite':
      return bulkLookups(command);
    case 'findAndModify':
      return [{ command: asSent(command), read: readOf(collection, { ...command, q: command.query }) }];
    case 'aggregate':
      return aggregateReads(collection, command).map(reads);
    default:
      return [];
  }
};

const readOf = (collection: string, { q, sort, hint }: Document): Document => ({
  find: collection,
  filter: q,
  ...(sort === undefined ? {} : { sort }),
  ...(hint === undefined ? {} : { hint }),
});

const bulkLookups = ({ ops, nsInfo }: Document): Lookup[] =>
  (ops as Document[]).flatMap(({ update, delete: removed, filter, multi, updateMods, hint }) => {
    const index = update ?? removed;
    if (index === undefined) return [];
    const { ns } = (nsInfo as { ns: string }[])[Number(index)] as { ns: string };
    const collection = ns.slice(ns.indexOf('.') + 1);
    const query = { q: filter, ...(hint === undefined ? {} : { hint }) };
    const command =
      update === undefined
        ? { delete: collection, deletes: [{ ...query, limit: multi === true ? 0 : 1 }] }
        : { update: collection, updates: [{ ...query, u: updateMods, multi: multi === true }] };
    return [{ command, read: readOf(collection, query) }];
  });

const aggregateReads = (collection: string, command: Document): Document[] => {
  const stages = command.pipeline as Document[];
  // An aggregation over literal documents reads only the collections that it joins.
  const joins = joinsOf(stages).map(({ from, foreignField }) => ({
    find: from,
    filter: { [String(foreignField)]: 'any' },
  }));
  if (collection === '') return joins;
  const [first, second] = stages;
  // Not every server shows the sort in the plan of an aggregation.
  const sorted =
    first?.$match === undefined || second?.$sort === undefined
      ? []
      : [{ find: collection, filter: first.$match, sort: second.$sort }];
  return [asSent(command), ...sorted, ...joins];
};

/** The `$lookup` stages. */
export const joinsOf = (stages: readonly Document[]): Document[] =>
  stages.flatMap(({ $lookup }) => ($lookup === undefined ? [] : [$lookup as Document]));

export const collectionOf = ({ find, aggregate }: Document): string => String(find ?? aggregate);

/** A lookup without its values, equal for two calls of one query. */
export const shapeOf = ({ find, filter, sort, limit, aggregate, pipeline }: Document): string => {
  const blank = (value: unknown): unknown => {
    if (Array.isArray(value)) return value.every((one) => isDocument(one)) ? value.map(blank) : ['?'];
    if (!isDocument(value)) return '?';
    return Object.fromEntries(Object.entries(value).map(([field, inner]) => [field, blank(inner)]));
  };
  if (find === undefined) {
    const [first, second] = pipeline as Document[];
    return shapeOf({ find: aggregate, filter: first?.$match ?? {}, sort: second?.$sort });
  }
  const sorted = sort === undefined ? '' : ` sort ${JSON.stringify(toPlain(sort))}`;
  return `${find} ${JSON.stringify(blank(filter))}${sorted}${limit === undefined ? '' : ' limit'}`;
};

export const isDocument = (value: unknown): value is Document =>
  typeof value === 'object' && value !== null && Object.getPrototypeOf(value) === Object.prototype;

/** The driver represents a sort as a Map. */
export const toPlain = (sort: unknown): unknown => (sort instanceof Map ? Object.fromEntries(sort) : sort);
