/**
 * Books payments for other services: all of them or none, once per key. This is the most frequent transaction of the product,
 * so it writes only the wallets, the entry and the payments. The event is published with the seal (seal-ledger.ts).
 */
import { createHash } from 'node:crypto';
import { forbidden, invalid, message } from '@fitness/shared/kernel/error.ts';
import type { ProcessName } from '@fitness/shared/kernel/process-name.ts';
import type { Dependencies } from '../dependencies.ts';
import { isBalanceFull, isInsufficientBalance } from '../domain/balance.ts';
import { BOOKABLE_TYPES, type Booking, bookingMeta, bookingRows } from '../domain/booking.ts';
import { bookingKindOf, entryKey, returnsPurchase } from '../domain/booking-rules.ts';
import { AccountErased, AlreadyBooked, createEntry, type LedgerEntry } from '../domain/ledger.ts';
import { newPayment, type Payment } from '../domain/payment.ts';
import { holdCredit } from './hold-credits.ts';

const MAX_KEY_LENGTH = 255;
const MAX_BOOKINGS = 100;

interface BookInput {
  /** The calling process, from its signature. */
  from: ProcessName;
  key: string;
  bookings: readonly (Omit<Booking, 'type'> & { type: string })[];
}

interface BookOutput {
  /** In the same order as the bookings. */
  paymentIds: readonly number[];
  replayed: boolean;
}

/**
 * Throws 403 for bookings that the calling process may not make. Throws 422 for invalid bookings, and under `idempotency_key` for a key
 * that was used with other bookings. Throws `payments.insufficient_balance` when a balance would fall below zero, and
 * `payments.balance_limit` when it would exceed 2^53 - 1.
 */
export type Book = (input: BookInput) => Promise<BookOutput>;

type BookDependencies = Pick<Dependencies, 'store' | 'clock' | 'rates' | 'log'>;

export const createBook =
  (dependencies: BookDependencies): Book =>
  async (input) => {
    const bookings = validated(input);
    await assertAllowed(dependencies, input, bookings);
    const key = entryKey(input.key);
    const inputHash = hashOf(bookings);
    try {
      return await bookForAnyAccount(dependencies, { key, inputHash, bookings, erased: new Set() });
    } catch (error) {
      // Repeats are rare, so the key is not looked up beforehand. A repeat fails as a duplicate, or because the first
      // booking has changed the balance.
      const mayBeRepeat =
        error instanceof AlreadyBooked || isInsufficientBalance(error) || isBalanceFull(error);
      if (!mayBeRepeat) throw error;
      const booked = await dependencies.store.entries.find(key);
      if (booked === undefined) throw error;
      return replay(booked, inputHash);
    }
  };

const assertAllowed = async (
  { store, log }: Pick<Dependencies, 'store' | 'log'>,
  { from, key }: BookInput,
  bookings: readonly Booking[],
): Promise<void> => {
  const made = bookingKindOf(from, key, bookings);
  if (made.kind === 'sale' || made.kind === 'purchase') return;
  if (made.kind === 'refund') {
    const [income] = bookings;
    const entry = await store.entries.find(entryKey(made.purchaseKey));
    const [purchase, ...others] = entry === undefined ? [] : await store.payments.findMany(entry.paymentIds);
    if (income && purchase && others.length === 0 && returnsPurchase(income, purchase)) return;
  }
  log.error({ from, key }, 'refused a booking that the calling process may not make');
  throw forbidden(`${from} may not make this booking`);
};

const replay = (entry: LedgerEntry, inputHash: string): BookOutput => {
  if (entry.inputHash !== inputHash) throw invalid({ idempotency_key: message('idempotency.other_body') });
  return { paymentIds: entry.paymentIds, replayed: true };
};

interface KeyedBookings {
  key: string;
  inputHash: string;
  bookings: readonly Booking[];
  /** Users of the bookings whose account is erased. */
  erased: ReadonlySet<number>;
}

/** Payments of an erased account are still booked, but without their descriptions, and its incomes are held. */
const bookForAnyAccount = async (
  dependencies: BookDependencies,
  request: KeyedBookings,
): Promise<BookOutput> => {
  try {
    return await bookOnce(dependencies, request);
  } catch (error) {
    if (!(error instanceof AccountErased)) throw error;
    const bookings = request.bookings.map((booking) =>
      booking.userId === error.userId ? { ...booking, description: null } : booking,
    );
    const erased = new Set([...request.erased, error.userId]);
    return bookForAnyAccount(dependencies, { ...request, bookings, erased });
  }
};

const bookOnce = async (
  { store, clock, rates }: BookDependencies,
  { key, inputHash, bookings, erased }: KeyedBookings,
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
    await store.post(session, entry, payments, erased);
    for (const payment of payments)
      if (payment.type === 'income' && erased.has(payment.userId))
        await holdCredit({ store }, session, payment, entry);
  });
  return { paymentIds, replayed: false };
};

const isBookable = (type: string): type is Booking['type'] =>
  (BOOKABLE_TYPES as readonly string[]).includes(type);

const isId = (value: number): boolean => Number.isSafeInteger(value) && value > 0;

/** Checks the total too, so no sum of rows can exceed the exact range. */
const validated = ({ key, bookings }: BookInput): Booking[] => {
  const invalidField = (field: string) => invalid({ [field]: message('validation.invalid') });
  if (key.length === 0 || key.length > MAX_KEY_LENGTH) throw invalidField('idempotency_key');
  if (bookings.length === 0 || bookings.length > MAX_BOOKINGS) throw invalidField('bookings');
  const total = bookings.reduce((all, { amount }) => all + amount, 0);
  if (!Number.isSafeInteger(total)) throw invalidField('bookings');
  return bookings.map((booking, index) => {
    const { userId, type, amount, payableId } = booking;
    if (!isId(userId)) throw invalidField(`bookings.${index}.user_id`);
    if (!isBookable(type)) throw invalidField(`bookings.${index}.type`);
    if (!Number.isSafeInteger(amount) || amount <= 0) throw invalidField(`bookings.${index}.amount`);
    if (payableId !== null && !isId(payableId)) throw invalidField(`bookings.${index}.payable_id`);
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
