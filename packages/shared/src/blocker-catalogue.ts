/**
 * What can stand in the way of deleting an account (specification 4.1, rule 5). The order of the rows is the order in
 * the answer, and the codes are a client contract: renaming one is a breaking change.
 */
import { z } from 'zod';
import type { MessageKey } from './i18n/catalogue.ts';

const count = z.int().positive();
const timestamp = z.string().regex(/^\d{4}-\d\d-\d\d \d\d:\d\d:\d\d$/);

export const BLOCKERS = [
  { code: 'gym_ownership', owner: 'gyms', extras: z.object({ count }) },
  { code: 'unsettled_balance', owner: 'wallet', extras: z.object({ balance: z.int() }) },
  { code: 'pending_withdrawal', owner: 'wallet', extras: z.object({ count }) },
  { code: 'active_premium', owner: 'store-billing', extras: z.object({ expires_at: timestamp }) },
  { code: 'active_trainees', owner: 'content', extras: z.object({ count }) },
] as const satisfies readonly { code: string; owner: string; extras: z.ZodObject }[];

export type BlockerRow = (typeof BLOCKERS)[number];
export type BlockerCode = BlockerRow['code'];
export type BlockerOwner = BlockerRow['owner'];

/** The extra keys of one blocker, as they stand in the 409 body. */
export type BlockerExtras<Code extends BlockerCode> = z.output<Extract<BlockerRow, { code: Code }>['extras']>;

/** The catalogue key of a blocker's localized message; every blocker has one in every language. */
export const blockerMessageKey = (code: BlockerCode): MessageKey => `blocker.${code}`;
