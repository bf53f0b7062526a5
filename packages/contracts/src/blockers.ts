/**
 * Reasons that can block the deletion of an account (specification 4.1, rule 5). The rows are in the order of the
 * response. Clients rely on the codes, so renaming one is a breaking change.
 */
import { grpcDefinitions } from '@fitness/shared/grpc/load.ts';
import { type GrpcService, grpcService } from '@fitness/shared/grpc/server.ts';
import { invalid, message, notFound } from '@fitness/shared/kernel/error.ts';
import type { MessageKey } from '@fitness/shared/kernel/i18n/catalogue.ts';
import { z } from 'zod';

const count = z
  .int()
  .positive()
  .meta({ description: 'Number of gyms, withdrawals or trainees that block the deletion' });
const balance = z.int().meta({ description: 'Balance of the wallet in Tooman' });
const expiresAt = z
  .string()
  .regex(/^\d{4}-\d\d-\d\d \d\d:\d\d:\d\d$/)
  .meta({ description: 'When the subscription ends' });

export const BLOCKERS = [
  { code: 'gym_ownership', owner: 'gyms', extras: z.object({ count }) },
  { code: 'unsettled_balance', owner: 'wallet', extras: z.object({ balance }) },
  { code: 'pending_withdrawal', owner: 'wallet', extras: z.object({ count }) },
  { code: 'active_premium', owner: 'store-billing', extras: z.object({ expires_at: expiresAt }) },
  { code: 'active_trainees', owner: 'content', extras: z.object({ count }) },
] as const satisfies readonly { code: string; owner: string; extras: z.ZodObject }[];

export type BlockerRow = (typeof BLOCKERS)[number];
export type BlockerCode = BlockerRow['code'];
export type BlockerOwner = BlockerRow['owner'];

/**
 * The blockers of one service by code. Each returns the extra keys of its row in the 409 body, or undefined if it
 * does not block user `userId`.
 */
export type BlockersOf<Owner extends BlockerOwner> = {
  [Row in Extract<BlockerRow, { owner: Owner }> as Row['code']]: (
    userId: number,
  ) => Promise<z.output<Row['extras']> | undefined>;
};

/**
 * `fitness.common.v1.Blockers` for the service that owns `blockers`. NOT_FOUND for a code of another owner,
 * INVALID_ARGUMENT for a user id that is not a positive integer.
 */
export const blockersService = <Owner extends BlockerOwner>(blockers: BlockersOf<Owner>): GrpcService => {
  const evaluators = new Map<string, (userId: number) => Promise<object | undefined>>(
    Object.entries(blockers),
  );
  return grpcService(grpcDefinitions.blockers(), {
    Evaluate: async ({ user_id: userId, code }) => {
      const evaluate = evaluators.get(code);
      if (evaluate === undefined) throw notFound('not_found', `no blocker ${code} here`);
      if (!Number.isSafeInteger(userId) || userId <= 0) {
        throw invalid({ user_id: message('validation.invalid') });
      }
      const extras = await evaluate(userId);
      return { applies: extras !== undefined, extras_json: JSON.stringify(extras ?? {}) };
    },
  });
};

export const isBlockerCode = (code: string): code is BlockerCode => BLOCKERS.some((row) => row.code === code);

/** The catalogue key of a blocker's message. A blocker of a newer release has a general message. */
export const blockerMessageKey = (code: string): MessageKey =>
  isBlockerCode(code) ? `blocker.${code}` : 'deletion.blocked';
