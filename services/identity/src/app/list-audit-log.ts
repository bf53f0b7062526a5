/**
 * The audit log of the whole product: the lists of all services, merged by id. Ids grow with time across services. If a
 * service does not respond, there is no list, because an incomplete one would hide its gaps.
 */
import type { AuditEntry, AuditFilter } from '@fitness/shared/audit/reader.ts';
import type { UserCaller } from '@fitness/shared/kernel/caller.ts';
import { type PageOf, type PageRequest, toPage } from '@fitness/shared/kernel/page.ts';
import type { AuditSource } from '../clients/audit-logs.ts';
import type { Dependencies } from '../dependencies.ts';

const MAX_BATCH = 200;

/** Returns entries newest first. Throws `unavailable` when a service does not respond. */
export type ListAuditLog = (
  caller: UserCaller,
  filter: AuditFilter,
  request: PageRequest,
) => Promise<PageOf<AuditEntry>>;

export const createListAuditLog =
  ({ auditSources }: Dependencies): ListAuditLog =>
  async (caller, filter, request) => {
    const isPage = request.mode === 'page';
    const total = isPage ? await countAll(auditSources, caller, filter) : undefined;
    const skip = isPage ? request.skip : 0;
    if (total !== undefined && skip >= total) return { rows: [], total, next: undefined };
    const needed = skip + request.perPage + 1;
    const beforeId = request.mode === 'cursor' ? request.after[0] : undefined;
    const limit = Math.min(needed, MAX_BATCH);
    const merged = mergeNewestFirst(
      auditSources.map((source) => entriesOf(source, caller, filter, { beforeId, limit })),
    );
    const rows: AuditEntry[] = [];
    let seen = 0;
    for await (const entry of merged) {
      seen += 1;
      if (seen > skip) rows.push(entry);
      if (seen === needed) break;
    }
    return toPage(rows, request, ({ id }) => id, total);
  };

const countAll = async (
  sources: readonly AuditSource[],
  caller: UserCaller,
  filter: AuditFilter,
): Promise<number> => {
  const counts = await Promise.all(sources.map((source) => source.count(caller, filter)));
  return counts.reduce((sum, count) => sum + count, 0);
};

/** Yields all entries of one service, and reads them in batches as they are needed. */
async function* entriesOf(
  source: AuditSource,
  caller: UserCaller,
  filter: AuditFilter,
  { beforeId, limit }: { beforeId: number | undefined; limit: number },
): AsyncGenerator<AuditEntry, void> {
  for (let position = beforeId; ; ) {
    const { entries, hasMore } = await source.list(caller, filter, { beforeId: position, limit });
    yield* entries;
    position = entries.at(-1)?.id;
    if (!hasMore || position === undefined) return;
  }
}

async function* mergeNewestFirst(
  lists: readonly AsyncGenerator<AuditEntry, void>[],
): AsyncGenerator<AuditEntry, void> {
  const heads = await Promise.all(lists.map((list) => list.next()));
  for (;;) {
    const newest = heads.reduce(
      (best, head, index) =>
        head.done !== true && head.value.id > best.id ? { id: head.value.id, index } : best,
      { id: Number.NEGATIVE_INFINITY, index: -1 },
    ).index;
    const head = heads[newest];
    const list = lists[newest];
    if (head === undefined || head.done === true || list === undefined) return;
    yield head.value;
    heads[newest] = await list.next();
  }
}
