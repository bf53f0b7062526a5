/** A bought training service: somebody who is being trained. */
import type { Sale } from './sale.ts';

/**
 * `pending`: the purchase is under way, or was interrupted. `active`: paid, and to be delivered. `cancelled`: the
 * wallet refused; nothing was paid.
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
