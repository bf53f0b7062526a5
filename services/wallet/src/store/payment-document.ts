/** The payment as it is stored. */
import { exact } from '../domain/money.ts';
import type { DisputeResolution, GatewayReceipt, Payment } from '../domain/payment.ts';
import type { PaymentDocument, ReportedDocument, ResolutionDocument } from './models.ts';

const fromReportedDocument = (found: ReportedDocument): GatewayReceipt => ({
  amountRial: found.amount_rial,
  orderId: found.order_id,
  refNumber: found.ref_number,
  cardNumber: found.card_number,
  paidAt: found.paid_at,
});

export const toReportedDocument = (receipt: GatewayReceipt): ReportedDocument => ({
  amount_rial: receipt.amountRial,
  order_id: receipt.orderId,
  ref_number: receipt.refNumber,
  card_number: receipt.cardNumber,
  paid_at: receipt.paidAt,
});

const fromResolutionDocument = (found: ResolutionDocument): DisputeResolution => ({
  outcome: found.outcome,
  note: found.note,
  resolvedBy: found.resolved_by,
  resolvedAt: found.resolved_at,
});

export const toResolutionDocument = (resolution: DisputeResolution): ResolutionDocument => ({
  outcome: resolution.outcome,
  note: resolution.note,
  resolved_by: resolution.resolvedBy,
  resolved_at: resolution.resolvedAt,
});

export const fromDocument = (found: PaymentDocument): Payment => ({
  id: found._id,
  userId: found.user_id,
  type: found.type,
  amount: found.amount,
  description: found.description,
  payableType: found.payable_type,
  payableId: found.payable_id,
  meta: found.meta,
  isDone: found.is_done,
  rejectedAt: found.rejected_at,
  createdAt: found.created_at,
  version: found.version,
  gateway:
    found.gateway === null
      ? null
      : {
          trackId: found.gateway.track_id,
          orderId: found.gateway.order_id,
          state: found.gateway.state,
          checkAt: found.gateway.check_at,
          reported: found.gateway.reported === null ? null : fromReportedDocument(found.gateway.reported),
          // An older release stored none.
          resolution:
            found.gateway.resolution == null ? null : fromResolutionDocument(found.gateway.resolution),
        },
});

export const toDocument = (payment: Payment): PaymentDocument => ({
  _id: payment.id,
  user_id: payment.userId,
  type: payment.type,
  amount: exact(payment.amount),
  description: payment.description,
  payable_type: payment.payableType,
  payable_id: payment.payableId,
  meta: payment.meta === null ? null : { ...payment.meta },
  is_done: payment.isDone,
  rejected_at: payment.rejectedAt,
  is_rejected: payment.rejectedAt !== null,
  created_at: payment.createdAt,
  version: payment.version,
  gateway:
    payment.gateway === null
      ? null
      : {
          track_id: payment.gateway.trackId,
          order_id: payment.gateway.orderId,
          state: payment.gateway.state,
          check_at: payment.gateway.checkAt,
          reported: payment.gateway.reported === null ? null : toReportedDocument(payment.gateway.reported),
          resolution:
            payment.gateway.resolution === null ? null : toResolutionDocument(payment.gateway.resolution),
        },
});
