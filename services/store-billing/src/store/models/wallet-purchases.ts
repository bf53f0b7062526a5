/** Purchases that the wallet pays. */
import { pseudonymise, retain, schemaOf } from '@fitness/shared/mongo/privacy.ts';
import { Schema } from 'mongoose';
import type { Offer } from '../../domain/offer.ts';
import type { WalletPurchaseState } from '../../domain/wallet-purchase.ts';
import type { TargetFields } from '../target-fields.ts';
import { counter, date, maybeDate, maybeNumber, maybeText, number, options, text } from './fields.ts';

export interface WalletPurchaseDocument extends TargetFields {
  _id: string;
  user_id: number;
  offer: Offer;
  amount: number;
  grant_id: number;
  state: WalletPurchaseState;
  undone_because: string | null;
  client_key: string | null;
  lease_owner: string;
  /** When another process may take it over. Null once the saga has ended. */
  lease_until: Date | null;
  /** Whether the lease holder stopped without a response from the wallet. */
  unattended: boolean;
  tries: number;
  created_at: Date;
  /** Missing from documents of older releases, where `created_at` is used instead. */
  started_at?: Date;
}

export const walletPurchases = schemaOf<WalletPurchaseDocument>(
  options('wallet_purchases'),
  retain('the hash of a key', { client_key: maybeText }),
  retain('the progress of the saga', { unattended: { type: Boolean, default: false } }),
  retain('whether an operator has bought it for somebody else, and by which request', {
    boosted_by_operator: Boolean,
    boost_request_id: String,
  }),
  pseudonymise('the number of the account', { user_id: number }),
  retain('what was charged and granted, for accounting', {
    _id: text,
    offer: { type: Schema.Types.Mixed, required: true },
    boostable_type: maybeText,
    boostable_id: maybeNumber,
    amount: number,
    grant_id: number,
    state: text,
    undone_because: maybeText,
    lease_owner: text,
    lease_until: maybeDate,
    tries: counter,
    created_at: date,
    started_at: Date,
  }),
)
  .index({ lease_until: 1 })
  .index({ user_id: 1, client_key: 1, created_at: 1 });
