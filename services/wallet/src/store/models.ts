/** The collections of the wallet's database. Amounts are refused when a double does not hold them exactly. */
import { erase, privacy, pseudonymise, retain } from '@fitness/shared/mongo/privacy.ts';
import { type Connection, type Model, Schema } from 'mongoose';
import { ENTRY_KINDS, type EntryKind } from '../domain/ledger.ts';
import { GATEWAY_STATES, type GatewayState, PAYMENT_TYPES, type PaymentType } from '../domain/payment.ts';

export interface WalletDocument {
  /** User id. */
  _id: number;
  /** Spendable, whole Tooman: always what the payments add up to. */
  balance: number;
  version: number;
  /** Set once the user's account is erased: nothing personal is written down again. */
  erased_at: Date | null;
}

export interface PaymentDocument {
  _id: number;
  user_id: number;
  type: PaymentType;
  amount: number;
  description: string | null;
  payable_type: string | null;
  payable_id: number | null;
  meta: Record<string, unknown> | null;
  is_done: boolean;
  rejected_at: Date | null;
  /** Whether there is a `rejected_at`: an index counts by it without reading the payments. */
  is_rejected: boolean;
  created_at: Date;
  version: number;
  gateway: GatewayDocument | null;
}

/** What the gateway took instead of what was asked for. */
export interface ReportedDocument {
  amount_rial: number | null;
  order_id: string | null;
  ref_number: string | null;
  card_number: string | null;
  paid_at: string | null;
}

interface GatewayDocument {
  track_id: string;
  order_id: string;
  state: GatewayState;
  check_at: Date | null;
  reported: ReportedDocument | null;
}

/** One booking with its rows, in one document: a row cannot be lost without its siblings. */
export interface EntryDocument {
  /** The idempotency key. */
  _id: string;
  kind: EntryKind;
  input_hash: string | null;
  rows: { account: string; amount: number }[];
  payment_ids: number[];
  booked_at: Date;
  /** Of everything above. */
  hash: string;
  /** The number of its seal, null until it is sealed. */
  seal: number | null;
}

const exactAmount = {
  type: Number,
  required: true,
  validate: { validator: Number.isSafeInteger, message: 'not an exact whole amount' },
};

const walletSchema = new Schema<WalletDocument>(
  {
    _id: { type: Number, required: true },
    balance: exactAmount,
    version: exactAmount,
    erased_at: { type: Date, default: null },
  },
  { collection: 'wallets', versionKey: false },
);

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

const gatewaySchema = new Schema<GatewayDocument>(
  {
    track_id: { type: String, required: true },
    order_id: { type: String, required: true },
    state: { type: String, enum: GATEWAY_STATES, required: true },
    check_at: { type: Date, default: null },
    reported: { type: reportedSchema, default: null },
  },
  { _id: false },
);

/** Deposits, and nothing else: a payment without a gateway is in none of the indexes about it. */
const OF_DEPOSITS = { sparse: true };

const paymentSchema = new Schema<PaymentDocument>(
  {
    _id: { type: Number, required: true },
    user_id: exactAmount,
    type: { type: String, enum: PAYMENT_TYPES, required: true },
    amount: exactAmount,
    description: { type: String, default: null },
    payable_type: { type: String, default: null },
    payable_id: { type: Number, default: null },
    meta: { type: Schema.Types.Mixed, default: null },
    is_done: { type: Boolean, required: true },
    rejected_at: { type: Date, default: null },
    is_rejected: { type: Boolean, required: true },
    created_at: { type: Date, required: true },
    version: exactAmount,
    gateway: { type: gatewaySchema, default: null },
  },
  { collection: 'payments', versionKey: false, minimize: false },
)
  .index({ user_id: 1, _id: 1 })
  // A user's history, and everybody's, are read in the order of their ids and counted without reading them.
  .index({ user_id: 1, type: 1, is_done: 1, is_rejected: 1, _id: 1 })
  .index({ type: 1, is_done: 1, is_rejected: 1, _id: 1 })
  .index({ type: 1, is_done: 1, is_rejected: 1, created_at: 1, _id: 1 })
  // A track id pays for one deposit.
  .index({ 'gateway.track_id': 1 }, { unique: true, ...OF_DEPOSITS })
  // Those that are due to be asked about, and those that were set aside.
  .index({ 'gateway.check_at': 1 }, OF_DEPOSITS)
  .index({ 'gateway.state': 1, _id: 1 }, { partialFilterExpression: { 'gateway.state': 'mismatch' } });

const entrySchema = new Schema<EntryDocument>(
  {
    _id: { type: String, required: true },
    kind: { type: String, enum: ENTRY_KINDS, required: true },
    input_hash: { type: String, default: null },
    rows: [new Schema({ account: { type: String, required: true }, amount: exactAmount }, { _id: false })],
    payment_ids: { type: [Number], required: true },
    booked_at: { type: Date, required: true },
    hash: { type: String, required: true },
    seal: { type: Number, default: null },
  },
  { collection: 'ledger_entries', versionKey: false },
)
  .index({ payment_ids: 1 })
  .index({ seal: 1 });

privacy(
  walletSchema,
  pseudonymise('the number of the account', '_id'),
  retain(
    'the sum of the payments, and the mark that nothing personal comes in any more',
    'balance',
    'version',
  ),
  retain('likewise', 'erased_at'),
);

privacy(
  paymentSchema,
  erase(
    'written by the person, or about him',
    'description',
    'meta.card_number',
    'gateway.reported.card_number',
  ),
  pseudonymise('the number of the account', 'user_id'),
  retain('the books are kept: what was paid, when and for what', '_id', 'type', 'amount', 'meta', 'is_done'),
  retain('likewise', 'payable_type', 'payable_id', 'rejected_at', 'is_rejected', 'created_at', 'version'),
  retain('the bank gateway names the deposit by it', 'gateway.track_id', 'gateway.order_id'),
  retain('where the deposit stands there', 'gateway.state', 'gateway.check_at'),
  retain(
    'what the gateway took instead of what was asked for, to be cleared up with it',
    'gateway.reported.amount_rial',
    'gateway.reported.order_id',
    'gateway.reported.ref_number',
    'gateway.reported.paid_at',
  ),
);

privacy(
  entrySchema,
  pseudonymise('accounts of the ledger, by the number of the user', 'rows.account'),
  retain(
    'the ledger is never changed',
    '_id',
    'kind',
    'input_hash',
    'rows.amount',
    'payment_ids',
    'booked_at',
    'hash',
    'seal',
  ),
);

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
