/** The places that grants take. At most one runs in each, against any other token, wallet purchase or replica. */
import { type ClientSession, trusted } from '@fitness/shared/mongo/connect.ts';
import { isDuplicateKey } from '@fitness/shared/mongo/transaction.ts';
import { insertPlain } from './insert.ts';
import type { Models, SlotDocument } from './models.ts';

/** `missing`: free, and not made yet. */
export type SlotState = 'free' | 'missing' | 'active' | 'reserved' | 'closed';

/** `reserved` names the wallet purchase that holds it. */
export type SlotRefusal = { by: 'active' | 'closed' } | { by: 'reserved'; purchaseId: string };

/** Somebody has made the slot meanwhile; the transaction that hears it is over, and its next try updates. */
class SlotAppeared extends Error {
  override name = 'SlotAppeared';
}

export const isSlotAppeared = (error: unknown): boolean =>
  (error as { name?: unknown } | null)?.name === 'SlotAppeared';

export interface Slots {
  /** Outside any transaction; makes the slot when it is not there, so that what follows only updates. */
  look(slot: string, now: Date): Promise<Exclude<SlotState, 'missing'>>;
  /**
   * Puts a grant into the slot, in its transaction. `isNew`: nobody has made the slot yet, so it is made now; throws
   * {@link SlotAppeared} when somebody has. `heldBy`: the wallet purchase whose reservation does not count, or null.
   * The slot as refused when something runs in it, or somebody else holds it.
   */
  take(
    session: ClientSession,
    slot: string,
    grant: { id: number; endsAt: Date; heldBy: string | null; isNew: boolean; now: Date },
  ): Promise<SlotRefusal | 'taken'>;
  /** Keeps the slot for a wallet purchase until it is taken or released. */
  reserve(
    session: ClientSession,
    slot: string,
    purchaseId: string,
    now: Date,
  ): Promise<SlotRefusal | 'reserved'>;
  /** Nothing happens when it is not held by this purchase. */
  release(session: ClientSession, slot: string, purchaseId: string): Promise<void>;
  /** Ends what runs in it, if that is this grant. */
  end(session: ClientSession, slot: string, grantId: number, now: Date): Promise<void>;
  /** For good: its user or target is gone. Gives the grant that ran in it, if any. */
  close(session: ClientSession, slot: string, now: Date): Promise<number | null>;
}

const NEVER = new Date(0);

const refusalOf = (found: SlotDocument, now: Date): SlotRefusal | undefined => {
  if (found.closed) return { by: 'closed' };
  if (found.active_until > now) return { by: 'active' };
  return found.reserved_by === null ? undefined : { by: 'reserved', purchaseId: found.reserved_by };
};

/** What the slot is at this moment. */
export const stateOf = (found: SlotDocument | undefined, now: Date): SlotState =>
  found === undefined ? 'missing' : (refusalOf(found, now)?.by ?? 'free');

export const createSlots = ({ slots }: Models): Slots => {
  const fresh = { active_until: NEVER, grant_id: null, reserved_by: null, closed: false, version: 0 };

  const ensure = async (slot: string): Promise<void> => {
    try {
      await slots.create({ _id: slot, ...fresh });
    } catch (error) {
      if (!isDuplicateKey(error)) throw error;
    }
  };

  const insert = async (session: ClientSession, slot: string, set: Partial<SlotDocument>): Promise<void> => {
    try {
      await insertPlain(slots, session, { _id: slot, ...fresh, ...set, version: 1 });
    } catch (error) {
      if (isDuplicateKey(error)) throw new SlotAppeared('', { cause: error });
      throw error;
    }
  };

  /** The guard is part of the update, so that the document truly changes and a second grant conflicts with it. */
  const change = async (
    session: ClientSession,
    slot: string,
    guard: { heldBy: string | null; now: Date },
    set: Partial<SlotDocument>,
  ): Promise<SlotRefusal | undefined> => {
    const changed = await slots.updateOne(
      {
        _id: slot,
        closed: false,
        // A reservation that somebody has passed over leaves none.
        reserved_by: guard.heldBy === null ? null : trusted({ $in: [guard.heldBy, null] }),
        active_until: trusted({ $lte: guard.now }),
      },
      { $set: set, $inc: { version: 1 } },
      { session },
    );
    if (changed.matchedCount === 1) return undefined;
    const found = await slots.findById(slot).session(session).lean<SlotDocument>();
    if (found === null) throw new Error(`the slot ${slot} is not there`);
    const refusal = refusalOf(found, guard.now);
    if (refusal === undefined) throw new Error(`the slot ${slot} is free and could not be taken`);
    return refusal;
  };

  return {
    look: async (slot, now) => {
      const found = await slots.findById(slot).lean<SlotDocument>();
      if (found === null) {
        await ensure(slot);
        return 'free';
      }
      return refusalOf(found, now)?.by ?? 'free';
    },
    take: async (session, slot, { id, endsAt, heldBy, isNew, now }) => {
      const set = { active_until: endsAt, grant_id: id, reserved_by: null };
      if (!isNew) return (await change(session, slot, { heldBy, now }, set)) ?? 'taken';
      await insert(session, slot, set);
      return 'taken';
    },
    reserve: async (session, slot, purchaseId, now) =>
      (await change(session, slot, { heldBy: null, now }, { reserved_by: purchaseId })) ?? 'reserved',
    release: async (session, slot, purchaseId) => {
      await slots.updateOne(
        { _id: slot, reserved_by: purchaseId },
        { $set: { reserved_by: null }, $inc: { version: 1 } },
        { session },
      );
    },
    end: async (session, slot, grantId, now) => {
      await slots.updateOne(
        { _id: slot, grant_id: grantId, active_until: trusted({ $gt: now }) },
        { $set: { active_until: now }, $inc: { version: 1 } },
        { session },
      );
    },
    close: async (session, slot, now) => {
      const before = await slots
        .findOneAndUpdate(
          { _id: slot },
          {
            $set: { closed: true, active_until: now },
            $inc: { version: 1 },
            $setOnInsert: { grant_id: null, reserved_by: null },
          },
          { session, upsert: true, returnDocument: 'before' },
        )
        .lean<SlotDocument>();
      return before !== null && before.active_until > now ? before.grant_id : null;
    },
  };
};
