/** Trainees, and the keys under which their purchases were started. */
import { pseudonymise, retain, schemaOf } from '@fitness/shared/mongo/privacy.ts';
import { TRAINEE_STATUSES, type TraineeStatus } from '../../domain/trainee.ts';
import { date, number, settings, text } from './fields.ts';

export interface TraineeDocument {
  _id: number;
  training_service_id: number;
  title: string;
  seller_user_id: number;
  user_id: number;
  price: number;
  commission: number;
  status: TraineeStatus;
  /** `_id` in `purchase_keys`; null for a purchase without an `Idempotency-Key`. */
  purchase_key: string | null;
  /** When the calls of every attempt have finished at the latest. Null once the purchase has ended. */
  lease_until: Date | null;
  /** How many times the purchase was started or resumed. */
  attempts: number;
  created_at: Date;
  delivered_at: Date | null;
  version: number;
}

/** A buyer's `Idempotency-Key`: a repeated request resumes the purchase that the first one started. */
export interface PurchaseKeyDocument {
  /** Hash of the user id and the key. */
  _id: string;
  trainee_id: number;
  expires_at: Date;
}

export const traineeSchema = schemaOf<TraineeDocument>(
  settings('trainees'),
  pseudonymise('the numbers of the accounts', { seller_user_id: number, user_id: number }),
  retain('the record of the other party’s purchase or sale, with the title at that time', {
    _id: number,
    title: text,
    price: number,
    training_service_id: number,
    commission: number,
    status: { type: String, enum: TRAINEE_STATUSES, required: true },
    created_at: date,
    delivered_at: { type: Date, default: null },
    version: number,
  }),
  retain('the progress of the purchase', {
    lease_until: { type: Date, default: null },
    attempts: { type: Number, default: 0 },
  }),
  retain('the hash of a key', { purchase_key: { type: String, default: null } }),
)
  .index({ seller_user_id: 1, status: 1, _id: -1 })
  .index({ user_id: 1, status: 1, _id: -1 })
  .index({ status: 1, lease_until: 1 });

export const purchaseKeySchema = schemaOf<PurchaseKeyDocument>(
  settings('purchase_keys'),
  retain('the hash of a key, for 24 hours', { _id: text, trainee_id: number, expires_at: date }),
).index({ expires_at: 1 }, { expireAfterSeconds: 0 });
