import type { BoostCopy } from '@fitness/contracts/boost.ts';

/** A boost of a training service, which is listed before others until the boost ends. */
export interface Boost extends BoostCopy {
  trainingServiceId: number;
}

/** `boosted_until` and `boost_level` of a training service that was never boosted. */
export const NEVER_BOOSTED = { level: 0, endsAt: new Date(0) } as const;
