/** Rules for every command that a mongoose model sends: the deadline of the request, and lost responses of writes. */
import type { Schema } from 'mongoose';
import { SECOND_MS } from '../kernel/clock.ts';
import { outcomeUnknown } from '../kernel/error.ts';
import { isDatabaseLost } from '../kernel/outage.ts';
import { assertInTime, remainingMs } from '../kernel/request-scope.ts';

/** The longest time that the server may take for one command of a request. */
export const COMMAND_MAX_MS = 10 * SECOND_MS;

const READS = ['find', 'findOne', 'countDocuments', 'estimatedDocumentCount', 'distinct'] as const;
const WRITES = [
  ...(['updateOne', 'updateMany', 'replaceOne', 'deleteOne', 'deleteMany'] as const),
  ...(['findOneAndUpdate', 'findOneAndReplace', 'findOneAndDelete'] as const),
];

/**
 * The `maxTimeMS` of a command of the current request; undefined outside of requests. The server then ends the command
 * itself, so that it has no effect after its request was refused. `timeoutMS` has no effect since driver 7.8.
 */
const commandLimitMs = (): number | undefined => {
  assertInTime();
  const leftMs = remainingMs();
  if (leftMs === Number.POSITIVE_INFINITY) return undefined;
  return Math.max(1, Math.floor(Math.min(COMMAND_MAX_MS, leftMs)));
};

const toOutcomeUnknown = (error: unknown): unknown =>
  isDatabaseLost(error) ? outcomeUnknown('the response to a write was lost', error) : error;

/**
 * A global plugin. Commands of a request get its deadline. A write outside of a transaction whose response is lost may be
 * stored: it rejects with `outcome_unknown`.
 */
export const commandRules = (schema: Schema): void => {
  schema.pre([...READS, ...WRITES], function limit() {
    const maxTimeMS = commandLimitMs();
    if (maxTimeMS !== undefined && this.getOptions().maxTimeMS === undefined) this.setOptions({ maxTimeMS });
  });
  schema.pre('aggregate', function limit() {
    const maxTimeMS = commandLimitMs();
    if (maxTimeMS !== undefined && this.options.maxTimeMS === undefined) this.option({ maxTimeMS });
  });
  schema.pre('save', () => assertInTime());
  schema.post(WRITES, { errorHandler: true }, function fail(error: unknown) {
    throw this.getOptions().session == null ? toOutcomeUnknown(error) : error;
  });
  schema.post('save', { errorHandler: true }, function fail(error: unknown) {
    throw this.$session() == null ? toOutcomeUnknown(error) : error;
  });
};
