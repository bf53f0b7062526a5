/** Asks the owners what stands in the way of deleting an account: all at once, with one deadline and a breaker each. */
import type { BlockersDefinition } from '@fitness/proto/gen/fitness/common/v1/Blockers.ts';
import {
  BLOCKERS,
  type BlockerCode,
  type BlockerOwner,
  type BlockerRow,
} from '@fitness/shared/blocker-catalogue.ts';
import { unavailable } from '@fitness/shared/error.ts';
import type { GrpcClient } from '@fitness/shared/grpc/client.ts';
import type { Logger } from '@fitness/shared/log.ts';

/** A blocker that applies, with the extra keys of its row. */
export interface AppliedBlocker {
  code: BlockerCode;
  extras: Record<string, string | number>;
}

export interface Blockers {
  /**
   * Every blocker that applies, in the order of the catalogue. Throws `unavailable` when one of them could not be
   * evaluated: an unanswered question is never a "no".
   */
  evaluate(userId: number): Promise<AppliedBlocker[]>;
}

export interface BlockersOptions {
  /** A client for each row of the catalogue, so that each has its own breaker. */
  connect: (owner: BlockerOwner, code: BlockerCode) => GrpcClient<BlockersDefinition>;
  deadlineMs: number;
  log: Logger;
}

export const createBlockers = ({ connect, deadlineMs, log }: BlockersOptions): Blockers => {
  const rows = BLOCKERS.map((row) => ({ row, client: connect(row.owner, row.code) }));
  const ask = async (row: BlockerRow, client: GrpcClient<BlockersDefinition>, userId: number) => {
    const request = { user_id: userId, code: row.code };
    const { applies, extras_json } = await client.call('Evaluate', request, { deadlineMs, retry: true });
    if (!applies) return undefined;
    const extras: Record<string, string | number> = row.extras.parse(JSON.parse(extras_json));
    return { code: row.code, extras };
  };
  return {
    evaluate: async (userId) => {
      const answers = await Promise.allSettled(rows.map(({ row, client }) => ask(row, client, userId)));
      const applied: AppliedBlocker[] = [];
      for (const [index, answer] of answers.entries()) {
        if (answer.status === 'rejected') {
          const code = BLOCKERS[index]?.code;
          log.warn({ err: answer.reason, blocker: code }, 'a blocker could not be evaluated');
          throw unavailable(`blocker ${code} could not be evaluated`, answer.reason);
        }
        if (answer.value !== undefined) applied.push(answer.value);
      }
      return applied;
    },
  };
};
