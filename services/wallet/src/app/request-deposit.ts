/** A deposit begins: the bank gateway opens a payment, and the payer is sent there. */
import type { UserCaller } from '@fitness/shared/caller.ts';
import { forbidden } from '@fitness/shared/error.ts';
import { created, type RouteReply } from '@fitness/shared/http/define-route.ts';
import type { ClientSession } from '@fitness/shared/mongo/connect.ts';
import { isDuplicateKey } from '@fitness/shared/mongo/transaction.ts';
import { chargedRial, depositBreakdown } from '../domain/booking.ts';
import { nextCheckAt, orderIdOf } from '../domain/deposit.ts';
import { newPayment } from '../domain/payment.ts';
import type { WalletDeps } from './deps.ts';
import { toResource } from './payment-resource.ts';
import { providerError } from './provider-error.ts';

const SECRET_BYTES = 12;

interface RequestDepositInput {
  caller: UserCaller;
  amount: number;
  description: string;
  idempotencyKey: string | undefined;
  /** What the key stands for. */
  fingerprint: unknown;
}

/**
 * 201 `{payment, payment_url}`; throws `payments.provider_error` when the gateway gives no usable answer, 403 for an
 * account that was erased meanwhile.
 */
export type RequestDeposit = (input: RequestDepositInput) => Promise<RouteReply>;

export const createRequestDeposit =
  (
    deps: Pick<WalletDeps, 'store' | 'clock' | 'random' | 'rates' | 'users' | 'gateway' | 'idempotency'>,
  ): RequestDeposit =>
  ({ caller, amount, description, idempotencyKey, fingerprint }) => {
    const { store, clock, random, rates, users, gateway, idempotency } = deps;
    const { userId } = caller;
    return idempotency.run({ userId, key: idempotencyKey, fingerprint }, async (run) => {
      const known = await users.show([userId], caller);
      const id = await store.payments.nextId();
      const meta = depositBreakdown(amount, rates);
      const orderId = orderIdOf(id, random.bytes(SECRET_BYTES).toString('hex'));
      // Asked before the row is written: an order that nobody was given an address for needs no row, and nobody can
      // pay it.
      const order = await gateway
        .request({ amountRial: chargedRial(meta), orderId })
        .catch((cause: unknown) => {
          throw providerError(cause);
        });
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
          checkAt: nextCheckAt(now, now),
          reported: null,
        },
      });
      const resource = toResource(payment, caller, known.get(userId), undefined);
      const reply = created({ payment: resource, payment_url: order.paymentUrl });
      const begin = async (session: ClientSession): Promise<void> => {
        // The gateway takes its time; the account may be gone by now.
        if (!(await store.wallets.pin(session, userId))) throw forbidden('the account is erased');
        await store.payments.insert(session, payment);
        await run.complete(session, reply);
      };
      await store.transaction(begin).catch((error: unknown) => {
        // A track id pays for one deposit; a second one with it would be the gateway's fault.
        throw isDuplicateKey(error, 'gateway.track_id') ? providerError(error) : error;
      });
      return reply;
    });
  };
