/** A trainee: the purchase of a training service by a buyer, and its delivery by the seller. */
import type { Sale } from './sale.ts';

/**
 * `pending`: the purchase is in progress or was interrupted. `active`: paid, not yet delivered. `cancelled`: not paid,
 * because the wallet refused or the seller is hidden.
 */
export const TRAINEE_STATUSES = ['pending', 'active', 'delivered', 'cancelled'] as const;
export type TraineeStatus = (typeof TRAINEE_STATUSES)[number];

export interface Trainee extends Sale {
  status: TraineeStatus;
  createdAt: Date;
  deliveredAt: Date | null;
  version: number;
}

export const isPaid = ({ status }: Trainee): boolean => status === 'active' || status === 'delivered';
