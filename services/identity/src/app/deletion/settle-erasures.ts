/**
 * Settles entries that a crash has left in the erasure journal: erasures that were begun, and may or may not have been
 * committed. The database tells which.
 */
import { DAY_MS, MINUTE_MS } from '@fitness/shared/kernel/clock.ts';
import type { Dependencies } from '../../dependencies.ts';

/** The transaction has usually ended before, and its process has marked the entry. */
const DONE_AFTER_MS = 2 * MINUTE_MS;
/**
 * Far longer than a transaction can be open, even with a clock that is hours fast. Otherwise an erasure could commit after its
 * entry, the only trace of it, was withdrawn. An entry that stays longer does no harm.
 */
const WITHDRAWN_AFTER_MS = DAY_MS;

/** Runs one round. It may be repeated, and is safe with several replicas. */
type SettleErasures = () => Promise<{ done: number; withdrawn: number }>;

export const createSettleErasures =
  ({ store, erasureJournal, realTime, log }: Dependencies): SettleErasures =>
  async () => {
    const count = { done: 0, withdrawn: 0 };
    for await (const entry of erasureJournal.entries('begun')) {
      const {
        user_id: userId,
        created_at: createdAt,
        erased_at: erasedAt,
        begun_at: begunAt,
      } = entry.content;
      const ageMs = realTime.now().getTime() - (begunAt ?? erasedAt).getTime();
      if (ageMs < DONE_AFTER_MS) continue;
      // In a transaction, which reads only what a majority has committed.
      const account = await store.transaction(
        (session) => store.users.findCreatedAt(session, userId, createdAt),
        { isEffect: false },
      );
      if (account !== null && account.erased_at !== null) {
        await entry.markDone();
        count.done += 1;
      } else if (ageMs >= WITHDRAWN_AFTER_MS) {
        await entry.withdraw();
        count.withdrawn += 1;
      }
    }
    if (count.done + count.withdrawn > 0) log.info(count, 'settled erasures that were begun');
    return count;
  };
