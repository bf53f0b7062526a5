/** Evaluates the blockers of an account concurrently, each with a deadline and its own circuit breaker. */
import {
  BLOCKERS,
  type BlockerCode,
  type BlockerOwner,
  type BlockerRow,
} from '@fitness/contracts/blockers.ts';
import type { BlockersDefinition } from '@fitness/proto/gen/fitness/common/v1/Blockers.ts';
import type { GrpcClient } from '@fitness/shared/grpc/client.ts';
import { unavailable } from '@fitness/shared/kernel/error.ts';
import type { Logger } from '@fitness/shared/kernel/log.ts';

/** A blocker that applies, with the extra keys of its row. */
export interface AppliedBlocker {
  code: BlockerCode;
  extras: Record<string, string | number>;
}

export interface Blockers {
  /** Returns the blockers that apply, in the order of the catalogue. Throws `unavailable` when one cannot be evaluated. */
  evaluate(userId: number): Promise<AppliedBlocker[]>;
}

interface BlockersOptions {
  /** Called once for each row of the catalogue, so that each row has its own circuit breaker. */
  connect: (owner: BlockerOwner, code: BlockerCode) => GrpcClient<BlockersDefinition>;
  deadlineMs: number;
  log: Logger;
}

export const createBlockers = ({ connect, deadlineMs, log }: BlockersOptions): Blockers => {
  const rows = BLOCKERS.map((row) => ({ row, client: connect(row.owner, row.code) }));
  const evaluateRow = async (row: BlockerRow, client: GrpcClient<BlockersDefinition>, userId: number) => {
    const request = { user_id: userId, code: row.code };
    const { applies, extras_json } = await client.call('Evaluate', request, { deadlineMs, retry: true });
    if (!applies) return undefined;
    const extras: Record<string, string | number> = row.extras.parse(JSON.parse(extras_json));
    return { code: row.code, extras };
  };
  return {
    evaluate: async (userId) => {
      const results = await Promise.allSettled(
        rows.map(({ row, client }) => evaluateRow(row, client, userId)),
      );
      const applied: AppliedBlocker[] = [];
      for (const [index, result] of results.entries()) {
        if (result.status === 'rejected') {
          const code = BLOCKERS[index]?.code;
          log.warn({ err: result.reason, blocker: code }, 'a blocker could not be evaluated');
          throw unavailable(`blocker ${code} could not be evaluated`, result.reason);
        }
        if (result.value !== undefined) applied.push(result.value);
      }
      return applied;
    },
  };
};
