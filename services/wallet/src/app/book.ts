/**
 * Books payments that belong together, for other services: all of them or none, once under their key. This is the
 * transaction that the product makes most; it writes the wallets, the entry and the payments, and nothing else. What
 * was booked is told when it is sealed (seal-ledger.ts).
 */
import { createHash } from 'node:crypto';
import { conflict, invalid, message } from '@fitness/shared/error.ts';
import { isBalanceFull, isInsufficientBalance } from '../domain/balance.ts';
import { BOOKABLE_TYPES, type Booking, bookingMeta, bookingRows } from '../domain/booking.ts';
import { createEntry, ErasedWallet, isAlreadyBooked, type LedgerEntry } from '../domain/ledger.ts';
import { newPayment, type Payment } from '../domain/payment.ts';
import type { WalletDeps } from './deps.ts';

const MAX_KEY_LENGTH = 255;
const MAX_BOOKINGS = 100;

interface BookInput {
  key: string;
  bookings: readonly (Omit<Booking, 'type'> & { type: string })[];
}

interface BookOutput {
  /** In the order of the bookings. */
  paymentIds: readonly number[];
  replayed: boolean;
}

/**
 * Throws 422 for bookings that cannot be meant, `idempotency.other_input` (a conflict) for a key that booked something
 * else, `payments.insufficient_balance` when a wallet would fall below zero, and `payments.balance_limit` when it would
 * grow past what is exact.
 */
export type Book = (input: BookInput) => Promise<BookOutput>;

export const createBook =
  (deps: Pick<WalletDeps, 'store' | 'clock' | 'rates'>): Book =>
  async (input) => {
    const bookings = validated(input);
    const key = `booking:${input.key}`;
    const inputHash = hashOf(bookings);
    try {
      return await bookWhoeverIsErased(deps, { key, inputHash, bookings });
    } catch (error) {
      // Repeats are rare, so that nobody looks for one beforehand: the key stops a second entry, and a wallet that
      // cannot take part may be so because of this very booking.
      if (!isAlreadyBooked(error) && !isInsufficientBalance(error) && !isBalanceFull(error)) throw error;
      const booked = await deps.store.entries.find(key);
      if (booked === undefined) throw error;
      return replay(booked, inputHash);
    }
  };

const replay = (entry: LedgerEntry, inputHash: string): BookOutput => {
  if (entry.inputHash !== inputHash)
    throw conflict('idempotency.other_input', message('idempotency.other_body'));
  return { paymentIds: entry.paymentIds, replayed: true };
};

interface Work {
  key: string;
  inputHash: string;
  bookings: readonly Booking[];
}

/** Books for erased accounts, too, whose money moves until all is settled, but writes no text about them down again. */
const bookWhoeverIsErased = async (
  deps: Pick<WalletDeps, 'store' | 'clock' | 'rates'>,
  work: Work,
): Promise<BookOutput> => {
  try {
    return await bookOnce(deps, work);
  } catch (error) {
    if (!(error instanceof ErasedWallet)) throw error;
    const bookings = work.bookings.map((booking) =>
      booking.userId === error.userId ? { ...booking, description: null } : booking,
    );
    return bookWhoeverIsErased(deps, { ...work, bookings });
  }
};

const bookOnce = async (
  { store, clock, rates }: Pick<WalletDeps, 'store' | 'clock' | 'rates'>,
  { key, inputHash, bookings }: Work,
): Promise<BookOutput> => {
  const createdAt = clock.now();
  const paymentIds = await store.payments.nextIds(bookings.length);
  const payments = bookings.map((booking, index): Payment => {
    const meta = bookingMeta(booking, bookings, rates.vatPercent);
    return newPayment({ ...booking, id: paymentIds[index] as number, meta, isDone: true, createdAt });
  });
  const rows = bookingRows(bookings, rates.vatPercent);
  const entry = createEntry({ key, kind: 'booking', inputHash, rows, paymentIds });
  await store.transaction(async (session) => {
    await store.post(session, entry, payments);
  });
  return { paymentIds, replayed: false };
};

const isBookable = (type: string): type is Booking['type'] =>
  (BOOKABLE_TYPES as readonly string[]).includes(type);

const isId = (value: number | null): boolean => value === null || (Number.isSafeInteger(value) && value > 0);

/** Only what can be booked exactly; also the totals, so that nothing further in can be refused for its size. */
const validated = ({ key, bookings }: BookInput): Booking[] => {
  const wrong = (field: string) => invalid({ [field]: message('validation.invalid') });
  if (key.length === 0 || key.length > MAX_KEY_LENGTH) throw wrong('idempotency_key');
  if (bookings.length === 0 || bookings.length > MAX_BOOKINGS) throw wrong('bookings');
  const total = bookings.reduce((all, { amount }) => all + amount, 0);
  if (!Number.isSafeInteger(total)) throw wrong('bookings');
  return bookings.map((booking, index) => {
    const { userId, type, amount, payableId } = booking;
    if (userId === null || !isId(userId)) throw wrong(`bookings.${index}.user_id`);
    if (!isBookable(type)) throw wrong(`bookings.${index}.type`);
    if (!Number.isSafeInteger(amount) || amount <= 0) throw wrong(`bookings.${index}.amount`);
    if (!isId(payableId)) throw wrong(`bookings.${index}.payable_id`);
    return { ...booking, type };
  });
};

const hashOf = (bookings: readonly Booking[]): string => {
  const fields = bookings.map((booking) => [
    booking.userId,
    booking.type,
    booking.amount,
    booking.description,
    booking.payableType,
    booking.payableId,
  ]);
  return createHash('sha256').update(JSON.stringify(fields)).digest('hex');
};
