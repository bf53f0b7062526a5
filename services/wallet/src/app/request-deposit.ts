/** Opens a payment at the bank gateway and records the deposit; the payer is sent to `paymentUrl`. */
import { isNotSent } from '@fitness/shared/http/provider-client.ts';
import type { UserCaller } from '@fitness/shared/kernel/caller.ts';
import { forbidden, invalid, message } from '@fitness/shared/kernel/error.ts';
import type { ClientSession } from '@fitness/shared/mongo/connect.ts';
import type { Complete } from '@fitness/shared/mongo/idempotency.ts';
import { isDuplicateKey } from '@fitness/shared/mongo/transaction.ts';
import type { Dependencies } from '../dependencies.ts';
import { chargedRial, depositBreakdown } from '../domain/booking.ts';
import { nextCheckAt, orderIdOf } from '../domain/deposit.ts';
import {
  MAX_OPEN_DEPOSITS,
  MAX_ORDERS,
  OPEN_LIMIT_MS,
  ORDER_LIMIT_MS,
  youngOrders,
} from '../domain/order-limits.ts';
import { newPayment } from '../domain/payment.ts';
import { type PaymentResource, toPaymentResource } from './payment-resource.ts';
import { providerError } from './provider-error.ts';

const SECRET_BYTES = 12;

interface RequestDepositInput {
  caller: UserCaller;
  /** Amount in Tooman, credited once the payment is verified. */
  amount: number;
  description: string;
}

export interface RequestedDeposit {
  payment: PaymentResource;
  /** The gateway's payment page. */
  paymentUrl: string;
}

/**
 * Throws `payments.provider_error` without a usable response from the gateway. Throws 422 under `amount` for an
 * amount that the gateway does not take, and for a user with {@link MAX_OPEN_DEPOSITS} open deposits or {@link MAX_ORDERS} orders.
 * Throws 403 for an erased account, and `unavailable` when the journal does not respond.
 */
export type RequestDeposit = (
  input: RequestDepositInput,
  complete: Complete<RequestedDeposit>,
) => Promise<RequestedDeposit>;

type RequestDepositDependencies = Pick<
  Dependencies,
  'store' | 'clock' | 'random' | 'rates' | 'users' | 'gateway' | 'depositJournal'
>;

/**
 * Counts the order before the gateway knows of it, so that concurrent requests open no order too many. Throws 422 for one order too
 * many, and 403 for an erased account.
 */
const placeOrder = (
  { store, clock }: RequestDepositDependencies,
  userId: number,
  id: number,
): Promise<void> =>
  store.transaction(async (session) => {
    const now = clock.now();
    const orders = await store.wallets.placeOrder(session, userId, { id, at: now });
    if (orders === undefined) throw forbidden('the account is erased');
    if (youngOrders(orders, ORDER_LIMIT_MS, now).length > MAX_ORDERS)
      throw invalid({ amount: message('payments.too_many_orders', { max: MAX_ORDERS }) });
    const young = youngOrders(orders, OPEN_LIMIT_MS, now).map((order) => order.id);
    if (young.length <= MAX_OPEN_DEPOSITS) return;
    const open = young.length - (await store.payments.countClosedDeposits(young, session));
    if (open > MAX_OPEN_DEPOSITS)
      throw invalid({ amount: message('payments.too_many_open_deposits', { max: MAX_OPEN_DEPOSITS }) });
  });

export const createRequestDeposit =
  (dependencies: RequestDepositDependencies): RequestDeposit =>
  async ({ caller, amount, description }, complete) => {
    const { store, clock, random, rates, users, gateway, depositJournal } = dependencies;
    const { userId } = caller;
    const [usersById, id] = await Promise.all([users.find([userId], caller), store.payments.nextId()]);
    await placeOrder(dependencies, userId, id);
    const meta = depositBreakdown(amount, rates);
    const orderId = orderIdOf(id, random.bytes(SECRET_BYTES).toString('hex'));
    // Opened before the insert: an order whose address was never handed out cannot be paid, so it needs no payment.
    const order = await gateway
      .request({ amountRial: chargedRial(meta), orderId })
      .catch(async (cause: unknown) => {
        // After an unknown outcome the order is still counted: the gateway may have opened it.
        if (isNotSent(cause)) await store.wallets.removeOrder(userId, id);
        throw providerError(cause);
      });
    if (typeof order === 'string') {
      await store.wallets.removeOrder(userId, id);
      if (order === 'above_ceiling') throw invalid({ amount: message('payments.deposit_above_ceiling') });
      throw providerError(new Error('the gateway refused the order'));
    }
    const now = clock.now();
    const payment = newPayment({
      id,
      userId,
      type: 'deposit',
      amount,
      description,
      meta,
      isDone: false,
      createdAt: now,
      gateway: {
        trackId: order.trackId,
        orderId,
        state: 'open',
        checkAt: nextCheckAt({ createdAt: now, gateway: null }, now),
        reported: null,
        resolution: null,
      },
    });
    // Written before the insert: after it the payer may get the address, even from the stored reply if this process dies.
    // A journal entry without a deposit does no harm, because the gateway knows whether its order was paid.
    const opened = { payment_id: id, user_id: userId, opened_at: now, track_id: order.trackId };
    await depositJournal.begin(orderId, { ...opened, order_id: orderId, meta });
    const result = {
      payment: toPaymentResource(payment, caller, usersById.get(userId), undefined),
      paymentUrl: order.paymentUrl,
    };
    const record = async (session: ClientSession): Promise<void> => {
      // The account may have been erased during the call to the gateway.
      if (!(await store.wallets.lockUnlessErased(session, userId))) throw forbidden('the account is erased');
      await store.payments.insert(session, payment);
      await complete(session, result);
    };
    await store.transaction(record).catch((error: unknown) => {
      // A track id belongs to one deposit, so a repeated one is the gateway's error.
      throw isDuplicateKey(error, 'gateway.track_id') ? providerError(error) : error;
    });
    return result;
  };
