/** Slots, one for each user and each target. At most one grant runs in a slot, even with concurrent requests. */
import { type ClientSession, trusted } from '@fitness/shared/mongo/connect.ts';
import { ignoreDuplicate, isDuplicateKey } from '@fitness/shared/mongo/transaction.ts';
import { insertUnvalidated } from './insert.ts';
import type { SlotDocument } from './models/grants.ts';
import type { Models } from './models.ts';

/** `missing`: free, without a document. */
export type SlotState = 'free' | 'missing' | 'active' | 'reserved' | 'closed';

export type SlotRefusal = { by: 'active' | 'closed' } | { by: 'reserved'; purchaseId: string };

/** Aborts the transaction: a concurrent transaction inserted the slot. The next try updates it. */
class SlotExistsError extends Error {
  override name = 'SlotExistsError';
}

export const isSlotExistsError = (error: unknown): boolean => error instanceof SlotExistsError;

export interface Slots {
  /** Inserts a missing slot, so later statements only update it. Call it outside any transaction. Returns its state. */
  ensure(slot: string, now: Date): Promise<Exclude<SlotState, 'missing'>>;
  /**
   * Puts a grant into the slot. `isNew` inserts the slot, and throws {@link SlotExistsError} if it exists.
   * `ignoreReservationOf` is the wallet purchase whose reservation is ignored, or null. Refused while a grant runs in the
   * slot, another wallet purchase has reserved it, or it is closed.
   */
  take(
    session: ClientSession,
    slot: string,
    grant: { id: number; endsAt: Date; ignoreReservationOf: string | null; isNew: boolean; now: Date },
  ): Promise<SlotRefusal | 'taken'>;
  /** Reserves the slot for a wallet purchase until it is taken or released. */
  reserve(
    session: ClientSession,
    slot: string,
    purchaseId: string,
    now: Date,
  ): Promise<SlotRefusal | 'reserved'>;
  /** Does nothing if it is not reserved by this purchase. */
  release(session: ClientSession, slot: string, purchaseId: string): Promise<void>;
  /** Does nothing if another grant runs in it. */
  end(session: ClientSession, slot: string, grantId: number, now: Date): Promise<void>;
  /** Whether it is closed because its user or target is deleted. */
  isClosed(session: ClientSession | null, slot: string): Promise<boolean>;
  /** Closes it permanently for a deleted user or target. Returns the id of the grant that ran in it, or null. */
  close(session: ClientSession, slot: string, now: Date): Promise<number | null>;
}

/** `active_until` of a slot in which no grant has run. */
const EPOCH = new Date(0);

const refusalOf = (document: SlotDocument, now: Date): SlotRefusal | undefined => {
  if (document.closed) return { by: 'closed' };
  if (document.active_until > now) return { by: 'active' };
  return document.reserved_by === null ? undefined : { by: 'reserved', purchaseId: document.reserved_by };
};

export const stateOf = (document: SlotDocument | undefined, now: Date): SlotState =>
  document === undefined ? 'missing' : (refusalOf(document, now)?.by ?? 'free');

const FREE = { active_until: EPOCH, grant_id: null, reserved_by: null, closed: false, version: 0 };

const insertIfMissing = async (slots: Models['slots'], slot: string): Promise<void> => {
  await slots.create({ _id: slot, ...FREE }).catch(ignoreDuplicate);
};

const insert = async (
  slots: Models['slots'],
  session: ClientSession,
  slot: string,
  set: Partial<SlotDocument>,
): Promise<void> => {
  try {
    await insertUnvalidated(slots, session, { _id: slot, ...FREE, ...set, version: 1 });
  } catch (error) {
    if (isDuplicateKey(error)) throw new SlotExistsError('', { cause: error });
    throw error;
  }
};

/** The guard is part of the update's filter, so concurrent transactions conflict on the document. */
const updateIfFree = async (
  slots: Models['slots'],
  session: ClientSession,
  slot: string,
  guard: { ignoreReservationOf: string | null; now: Date },
  set: Partial<SlotDocument>,
): Promise<SlotRefusal | undefined> => {
  const updated = await slots.updateOne(
    {
      _id: slot,
      closed: false,
      // Null is allowed, because the reservation may have been overridden.
      reserved_by:
        guard.ignoreReservationOf === null ? null : trusted({ $in: [guard.ignoreReservationOf, null] }),
      active_until: trusted({ $lte: guard.now }),
    },
    { $set: set, $inc: { version: 1 } },
    { session },
  );
  if (updated.matchedCount === 1) return undefined;
  const document = await slots.findById(slot).session(session).lean<SlotDocument>();
  if (document === null) throw new Error(`the slot ${slot} is missing`);
  const refusal = refusalOf(document, guard.now);
  if (refusal === undefined) throw new Error(`the slot ${slot} is free and could not be taken`);
  return refusal;
};

export const createSlots = ({ slots }: Models): Slots => {
  return {
    ensure: async (slot, now) => {
      const document = await slots.findById(slot).lean<SlotDocument>();
      if (document === null) {
        await insertIfMissing(slots, slot);
        return 'free';
      }
      return refusalOf(document, now)?.by ?? 'free';
    },
    take: async (session, slot, { id, endsAt, ignoreReservationOf, isNew, now }) => {
      const set = { active_until: endsAt, grant_id: id, reserved_by: null };
      if (!isNew)
        return (await updateIfFree(slots, session, slot, { ignoreReservationOf, now }, set)) ?? 'taken';
      await insert(slots, session, slot, set);
      return 'taken';
    },
    reserve: async (session, slot, purchaseId, now) =>
      (await updateIfFree(
        slots,
        session,
        slot,
        { ignoreReservationOf: null, now },
        { reserved_by: purchaseId },
      )) ?? 'reserved',
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
    isClosed: async (session, slot) => {
      const document = await slots
        .findById(slot, { closed: 1 }, { session })
        .lean<Pick<SlotDocument, 'closed'>>();
      return document?.closed === true;
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
