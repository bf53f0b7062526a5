/** What stands in the way of deleting an account, as far as the wallet knows (specification 4.1, rule 5). */
import type { BlockerCode, BlockerExtras } from '@fitness/shared/blocker-catalogue.ts';

export interface Blocker<Code extends BlockerCode = BlockerCode> {
  code: Code;
  /** The extra keys of the answer when it stands in the way, else undefined. */
  evaluate(userId: number): Promise<BlockerExtras<Code> | undefined>;
}
