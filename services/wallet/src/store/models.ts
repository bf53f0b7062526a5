/** The collections of the wallet's database. Amounts that a double cannot represent exactly are rejected. */

import { PAYMENT_TYPES, type PaymentType } from '@fitness/contracts/payment-types.ts';
import { erase, personalFieldsOf, pseudonymise, retain, schemaOf } from '@fitness/shared/mongo/privacy.ts';
import { type Connection, type Model, Schema } from 'mongoose';
import { ENTRY_KINDS, type EntryKind } from '../domain/ledger.ts';
import type { PlacedOrder } from '../domain/order-limits.ts';
import {
  type Claim,
  DISPUTE_OUTCOMES,
  type DisputeOutcome,
  GATEWAY_STATES,
  type GatewayState,
  type Settlement,
} from '../domain/payment.ts';
import type { PaymentMeta } from '../domain/payment-meta.ts';

export interface WalletDocument {
  /** User id. */
  _id: number;
  /** Spendable balance in whole Tooman, always the sum of the payments' effects. */
  balance: number;
  version: number;
  /** When the account was erased; from then on no personal data is stored. */
  erased_at: Date | null;
  /** Present if a restore has erased the account again. */
  is_erasure_repeated?: true;
  /** The last payment whose personal data the erasure has removed. */
  erased_through?: number;
  /** The newest orders at the bank gateway, the oldest first. */
  orders?: PlacedOrder[];
}

export interface PaymentDocument {
  _id: number;
  user_id: number;
  type: PaymentType;
  amount: number;
  description: string | null;
  payable_type: string | null;
  payable_id: number | null;
  meta: PaymentMeta | null;
  is_done: boolean;
  rejected_at: Date | null;
  /** `rejected_at !== null`, stored because indexes count by it. */
  is_rejected: boolean;
  created_at: Date;
  version: number;
  gateway: GatewayDocument | null;
  settlement?: Settlement;
  claim?: Claim;
}

/** What the gateway collected for a deposit that is or was disputed. */
export interface ReportedDocument {
  amount_rial: number | null;
  order_id: string | null;
  ref_number: string | null;
  card_number: string | null;
  paid_at: string | null;
}

/** What an operator decided about a disputed deposit. */
export interface ResolutionDocument {
  outcome: DisputeOutcome;
  note: string | null;
  resolved_by: number;
  resolved_at: Date;
  mark?: string | null | undefined;
}

interface GatewayDocument {
  track_id?: string;
  order_id?: string;
  state: GatewayState;
  check_at: Date | null;
  reported: ReportedDocument | null;
  resolution?: ResolutionDocument | null;
}

/** One booking with all its rows. */
export interface EntryDocument {
  /** The idempotency key. */
  _id: string;
  kind: EntryKind;
  input_hash: string | null;
  rows: { account: string; amount: number }[];
  payment_ids: number[];
  booked_at: Date;
  /** Hash of all fields above. */
  hash: string;
  /** The number of its seal, null until it is sealed. */
  seal: number | null;
}

const exactAmount = {
  type: Number,
  required: true,
  validate: { validator: Number.isSafeInteger, message: 'not an exact whole amount' },
};

/** The wallets of erased accounts with a balance: a few, of which most are empty again soon. */
export const ERASED_WITH_BALANCE = { erased_at: { $gt: new Date(0) }, balance: { $gt: 0 } };

const walletSchema = schemaOf<WalletDocument>(
  {
    collection: 'wallets',
    versionKey: false,
    nested: { orders: { type: [new Schema({ id: Number, at: Date }, { _id: false })], default: undefined } },
  },
  pseudonymise('the user id', { _id: { type: Number, required: true } }),
  retain('the sum of the payments, and the time of the erasure', {
    balance: exactAmount,
    version: exactAmount,
  }),
  retain('the time of the erasure, and its progress', {
    erased_at: { type: Date, default: null },
    is_erasure_repeated: Boolean,
    erased_through: Number,
  }),
  retain('limits the orders of a day: ids and times of payments, which stay', 'orders.id', 'orders.at'),
).index({ erased_at: 1 }, { partialFilterExpression: ERASED_WITH_BALANCE });

const reportedSchema = new Schema<ReportedDocument>(
  {
    amount_rial: { type: Number, default: null },
    order_id: { type: String, default: null },
    ref_number: { type: String, default: null },
    card_number: { type: String, default: null },
    paid_at: { type: String, default: null },
  },
  { _id: false },
);

const resolutionSchema = new Schema<ResolutionDocument>(
  {
    outcome: { type: String, enum: DISPUTE_OUTCOMES, required: true },
    note: { type: String, default: null },
    resolved_by: exactAmount,
    resolved_at: { type: Date, required: true },
    mark: String,
  },
  { _id: false },
);

const gatewaySchema = new Schema<GatewayDocument>(
  {
    track_id: String,
    order_id: String,
    state: { type: String, enum: GATEWAY_STATES, required: true },
    check_at: { type: Date, default: null },
    reported: { type: reportedSchema, default: null },
    resolution: { type: resolutionSchema, default: null },
  },
  { _id: false },
);

/** The indexes on `gateway` contain deposits only. */
const OF_DEPOSITS = { sparse: true };

const paymentSchema = schemaOf<PaymentDocument>(
  {
    collection: 'payments',
    versionKey: false,
    minimize: false,
    nested: {
      gateway: { type: gatewaySchema, default: null },
      settlement: { by: Number, at: Date, mark: String },
      claim: { by: Number, until: Date },
    },
  },
  erase(
    'the user’s text and masked card number',
    { description: { type: String, default: null } },
    'meta.card_number',
    'gateway.reported.card_number',
  ),
  erase(
    'where a withdrawal is paid to; an open one keeps it until it is settled',
    'meta.bank_account_number',
  ),
  erase(
    'an operator’s text for or about the user',
    'meta.reason',
    'meta.reference',
    'gateway.resolution.note',
  ),
  pseudonymise('the user id', { user_id: exactAmount }),
  pseudonymise('the id of the operator', 'gateway.resolution.resolved_by', 'settlement.by', 'claim.by'),
  retain('when an operator has paid or rejected it, or is about to', 'settlement.at', 'claim.until'),
  retain('recognizes a repeated decision, without its text', 'settlement.mark', 'gateway.resolution.mark'),
  retain('accounting records: what was paid, when and for what', {
    _id: { type: Number, required: true },
    type: { type: String, enum: PAYMENT_TYPES, required: true },
    amount: exactAmount,
    meta: { type: Schema.Types.Mixed, default: null },
    is_done: { type: Boolean, required: true },
    payable_type: { type: String, default: null },
    payable_id: { type: Number, default: null },
    rejected_at: { type: Date, default: null },
    is_rejected: { type: Boolean, required: true },
    created_at: { type: Date, required: true },
    version: exactAmount,
  }),
  retain('identify the deposit at the bank gateway', 'gateway.track_id', 'gateway.order_id'),
  retain('the state of the deposit there', 'gateway.state', 'gateway.check_at'),
  retain('the end of a dispute', 'gateway.resolution.outcome', 'gateway.resolution.resolved_at'),
  retain(
    'what the gateway took for a disputed deposit, to be settled with it',
    'gateway.reported.amount_rial',
    'gateway.reported.order_id',
    'gateway.reported.ref_number',
    'gateway.reported.paid_at',
  ),
)
  .index({ user_id: 1, _id: 1 })
  // For the payment histories of one user and of all users: read in id order, and counted from the index alone.
  .index({ user_id: 1, type: 1, is_done: 1, is_rejected: 1, _id: 1 })
  .index({ type: 1, is_done: 1, is_rejected: 1, _id: 1 })
  .index({ type: 1, is_done: 1, is_rejected: 1, created_at: 1, _id: 1 })
  .index({ 'gateway.track_id': 1 }, { unique: true, ...OF_DEPOSITS })
  .index({ 'gateway.check_at': 1 }, OF_DEPOSITS)
  .index({ 'gateway.state': 1, _id: 1 }, { partialFilterExpression: { 'gateway.state': 'mismatch' } });

const entrySchema = schemaOf<EntryDocument>(
  {
    collection: 'ledger_entries',
    versionKey: false,
    nested: {
      rows: [new Schema({ account: { type: String, required: true }, amount: exactAmount }, { _id: false })],
    },
  },
  pseudonymise('ledger accounts, which contain the user id', 'rows.account'),
  retain(
    'the ledger is immutable',
    {
      _id: { type: String, required: true },
      kind: { type: String, enum: ENTRY_KINDS, required: true },
      input_hash: { type: String, default: null },
    },
    'rows.amount',
    {
      payment_ids: { type: [Number], required: true },
      booked_at: { type: Date, required: true },
      hash: { type: String, required: true },
      seal: { type: Number, default: null },
    },
  ),
)
  .index({ payment_ids: 1 })
  .index({ seal: 1 });

export const isPersonalPaymentField = personalFieldsOf(paymentSchema);

export interface Models {
  wallets: Model<WalletDocument>;
  payments: Model<PaymentDocument>;
  entries: Model<EntryDocument>;
}

/** The models on this connection, registered on first use. */
export const registerModels = (connection: Connection): Models => ({
  wallets: connection.models.Wallet ?? connection.model<WalletDocument>('Wallet', walletSchema),
  payments: connection.models.Payment ?? connection.model<PaymentDocument>('Payment', paymentSchema),
  entries: connection.models.LedgerEntry ?? connection.model<EntryDocument>('LedgerEntry', entrySchema),
});
