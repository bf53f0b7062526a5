import type { PageOf, PageRequest } from '@fitness/shared/kernel/page.ts';
import type { Dependencies } from '../../dependencies.ts';
import type { NumberedKind, Token } from '../../store/tokens.ts';

/** Lists live tokens of one kind, newest first. */
export const createListTokens =
  ({ store, clock }: Dependencies, kind: NumberedKind) =>
  async (userId: number, request: PageRequest): Promise<PageOf<Token>> => {
    const now = clock.now();
    const window = await store.tokens.listNumbered(userId, kind, now, {
      skip: request.mode === 'page' ? request.skip : 0,
      limit: request.perPage + 1,
      beforeNumber: request.mode === 'cursor' ? request.after[0] : undefined,
    });
    const rows = window.slice(0, request.perPage);
    const last = rows.at(-1)?.token_number ?? undefined;
    return {
      rows,
      total: request.mode === 'page' ? await store.tokens.countNumbered(userId, kind, now) : undefined,
      next: window.length > rows.length && last !== undefined ? [last] : undefined,
    };
  };
