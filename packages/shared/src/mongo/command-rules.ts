/**
 * Rules for every command that a mongoose model sends: the deadline of the request, durable reads, and writes with
 * an unknown outcome.
 */
import type { Connection, Schema } from 'mongoose';
import { SECOND_MS } from '../kernel/clock.ts';
import { outcomeUnknown } from '../kernel/error.ts';
import { mayBeStored } from '../kernel/outage.ts';
import { assertInTime, currentScope, remainingMs } from '../kernel/request-scope.ts';
import { DURABLE_READ_CONCERN } from './concerns.ts';

/** The longest time that the server may take for one command of a request. */
export const COMMAND_MAX_MS = 10 * SECOND_MS;

const READS = ['find', 'findOne', 'countDocuments', 'estimatedDocumentCount', 'distinct'] as const;
const MANY = ['updateMany', 'deleteMany'] as const;
const SINGLE = [
  ...(['updateOne', 'replaceOne', 'deleteOne'] as const),
  ...(['findOneAndUpdate', 'findOneAndReplace', 'findOneAndDelete'] as const),
];
const WRITES = [...SINGLE, ...MANY];

/**
 * The `maxTimeMS` of a command of the current request; undefined outside of requests. The server then ends the command
 * itself, and it has no effect after its request was refused. `timeoutMS` has no effect since driver 7.8.
 */
const commandLimitMs = (): number | undefined => {
  assertInTime();
  const leftMs = remainingMs();
  if (leftMs === Number.POSITIVE_INFINITY) return undefined;
  return Math.max(1, Math.floor(Math.min(COMMAND_MAX_MS, leftMs)));
};

/** The `maxTimeMS` option of the current request, for a command that no model sends. */
export const commandLimit = (): { maxTimeMS?: number } => {
  const maxTimeMS = commandLimitMs();
  return maxTimeMS === undefined ? {} : { maxTimeMS };
};

/**
 * Whether a read looks for work: the relay, a sealer, a job, a consumer. Its results may be published, sealed, refunded or
 * deleted elsewhere before anything is written here. A request only knows data that a majority had acknowledged.
 */
const findsWork = (session: unknown): boolean => session == null && currentScope() === undefined;

const judge = (error: unknown, connection: Connection, isSingle: boolean): unknown => {
  // The driver repeats no write of several documents.
  const isRepeated = isSingle && connection.getClient().options.retryWrites !== false;
  return mayBeStored(error, { isSingle, isRepeated })
    ? outcomeUnknown('a write has failed that may be stored', error)
    : error;
};

/**
 * A global plugin. Commands of a request get its deadline; reads outside of requests and transactions read what a majority
 * has. A write outside of a transaction that may be stored although it failed rejects with `outcome_unknown`.
 */
export const commandRules = (schema: Schema): void => {
  schema.pre([...READS, ...WRITES], function limit() {
    const maxTimeMS = commandLimitMs();
    if (maxTimeMS !== undefined && this.getOptions().maxTimeMS === undefined) this.setOptions({ maxTimeMS });
  });
  schema.pre('aggregate', function limit() {
    const maxTimeMS = commandLimitMs();
    if (maxTimeMS !== undefined && this.options.maxTimeMS === undefined) this.option({ maxTimeMS });
    if (findsWork(this.options.session)) this.readConcern(DURABLE_READ_CONCERN.level);
  });
  schema.pre([...READS], function readDurably() {
    if (findsWork(this.getOptions().session)) this.setOptions({ readConcern: DURABLE_READ_CONCERN });
  });
  schema.pre('save', () => assertInTime());
  const judgeWrites = (names: readonly (typeof WRITES)[number][], isSingle: boolean): void => {
    schema.post([...names], { errorHandler: true }, function fail(error: unknown) {
      throw this.getOptions().session == null ? judge(error, this.model.db, isSingle) : error;
    });
  };
  judgeWrites(SINGLE, true);
  judgeWrites(MANY, false);
  schema.post('save', { errorHandler: true }, function fail(error: unknown) {
    throw this.$session() == null ? judge(error, this.db, true) : error;
  });
};
