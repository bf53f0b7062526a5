import { rateLimited } from '@fitness/shared/kernel/rate-limit.ts';
import type { Dependencies } from '../../dependencies.ts';
import { hashed } from '../../domain/limit-keys.ts';

export interface SmsBudget {
  /** Throws 429 when the daily limit for this phone is reached. */
  takeSignedIn(phone: string): Promise<void>;
  /** False when nothing may be sent. The phone's last SMS of a day is reserved for networks that the account knows. */
  takeAnonymous(phone: string, isKnownNetwork: boolean): Promise<boolean>;
}

const ALERT_SHARE = 0.8;
/** How many of the anonymous SMS of a day networks get that the account does not know. */
export const ofUnknownNetworks = (points: number): number => Math.max(1, points - 1);

export const createSmsBudget = ({
  limiter,
  limits,
  anonymousSmsCounter,
  log,
}: Pick<Dependencies, 'limiter' | 'limits' | 'anonymousSmsCounter' | 'log'>): SmsBudget => ({
  takeSignedIn: async (phone) => {
    const state = await limiter.consume(limits.signedInSmsPerPhone, hashed(phone));
    if (!state.allowed) throw rateLimited(state);
  },

  takeAnonymous: async (phone, isKnownNetwork) => {
    const perPhone = limits.anonymousSmsPerPhone;
    // Both kinds share one count, so that one SMS is left for the owner whatever their order.
    const points = isKnownNetwork ? perPhone.points : ofUnknownNetworks(perPhone.points);
    if (!(await limiter.consume({ ...perPhone, points }, hashed(phone))).allowed) return false;
    const { allowed, limit, remaining } = await limiter.consume(limits.anonymousSms, 'all');
    const used = limit - remaining;
    const alertAt = Math.ceil(limit * ALERT_SHARE);
    // Only one call sees each count, so each text is logged once a day over all replicas.
    if (allowed && (used === alertAt || used === limit)) {
      log.error(
        { used, limit },
        'the daily limit for anonymously requested SMS is nearly or completely used',
      );
    }
    anonymousSmsCounter.inc({ budget: !allowed ? 'spent' : used >= alertAt ? 'alert' : 'ok' });
    return allowed;
  },
});
