/** The stored form of a payment. */
import { exact } from '../domain/money.ts';
import type { DisputeResolution, GatewayReceipt, Payment } from '../domain/payment.ts';
import type { PaymentDocument, ReportedDocument, ResolutionDocument } from './models.ts';

const fromReportedDocument = (document: ReportedDocument): GatewayReceipt => ({
  amountRial: document.amount_rial,
  orderId: document.order_id,
  refNumber: document.ref_number,
  cardNumber: document.card_number,
  paidAt: document.paid_at,
});

export const toReportedDocument = (receipt: GatewayReceipt): ReportedDocument => ({
  amount_rial: receipt.amountRial,
  order_id: receipt.orderId,
  ref_number: receipt.refNumber,
  card_number: receipt.cardNumber,
  paid_at: receipt.paidAt,
});

const fromResolutionDocument = (document: ResolutionDocument): DisputeResolution => ({
  outcome: document.outcome,
  note: document.note,
  resolvedBy: document.resolved_by,
  resolvedAt: document.resolved_at,
  mark: document.mark,
});

export const toResolutionDocument = (resolution: DisputeResolution): ResolutionDocument => ({
  outcome: resolution.outcome,
  note: resolution.note,
  resolved_by: resolution.resolvedBy,
  resolved_at: resolution.resolvedAt,
  ...(resolution.mark == null ? {} : { mark: resolution.mark }),
});

export const fromDocument = (document: PaymentDocument): Payment => ({
  id: document._id,
  userId: document.user_id,
  type: document.type,
  amount: document.amount,
  description: document.description,
  payableType: document.payable_type,
  payableId: document.payable_id,
  meta: document.meta,
  isDone: document.is_done,
  rejectedAt: document.rejected_at,
  createdAt: document.created_at,
  version: document.version,
  settlement: document.settlement ?? null,
  claim: document.claim ?? null,
  gateway:
    document.gateway === null
      ? null
      : {
          trackId: document.gateway.track_id ?? null,
          orderId: document.gateway.order_id ?? null,
          state: document.gateway.state,
          checkAt: document.gateway.check_at,
          reported:
            document.gateway.reported === null ? null : fromReportedDocument(document.gateway.reported),
          // Older releases stored no resolution.
          resolution:
            document.gateway.resolution == null ? null : fromResolutionDocument(document.gateway.resolution),
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
  ...(payment.settlement && { settlement: payment.settlement }),
  ...(payment.claim && { claim: payment.claim }),
  gateway:
    payment.gateway === null
      ? null
      : {
          ...(payment.gateway.trackId !== null && { track_id: payment.gateway.trackId }),
          ...(payment.gateway.orderId !== null && { order_id: payment.gateway.orderId }),
          state: payment.gateway.state,
          check_at: payment.gateway.checkAt,
          reported: payment.gateway.reported === null ? null : toReportedDocument(payment.gateway.reported),
          resolution:
            payment.gateway.resolution === null ? null : toResolutionDocument(payment.gateway.resolution),
        },
});
