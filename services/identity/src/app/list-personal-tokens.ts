import type { UserCaller } from '@fitness/shared/kernel/caller.ts';
import type { PageOf, PageRequest } from '@fitness/shared/kernel/page.ts';
import type { Dependencies } from '../dependencies.ts';
import type { Token } from '../store/tokens.ts';
import { tokenRestriction } from './restricted-token.ts';

/** Live tokens, newest first. A restricted token lists only tokens without further permissions than its own. */
export const createListPersonalTokens =
  ({ store, clock }: Pick<Dependencies, 'store' | 'clock'>) =>
  async (caller: UserCaller, request: PageRequest): Promise<PageOf<Token>> => {
    const { userId } = caller;
    const restriction = await tokenRestriction({ store, clock }, caller);
    const now = clock.now();
    const found = await store.tokens.listPersonal(userId, now, restriction, {
      skip: request.mode === 'page' ? request.skip : 0,
      limit: request.perPage + 1,
      beforeNumber: request.mode === 'cursor' ? request.after[0] : undefined,
    });
    const rows = found.slice(0, request.perPage);
    const last = rows.at(-1)?.token_number ?? undefined;
    return {
      rows,
      total: request.mode === 'page' ? await store.tokens.countPersonal(userId, now, restriction) : undefined,
      next: found.length > rows.length && last !== undefined ? [last] : undefined,
    };
  };
