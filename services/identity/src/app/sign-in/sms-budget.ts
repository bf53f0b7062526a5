import { rateLimited } from '@fitness/shared/kernel/rate-limit.ts';
import type { Dependencies } from '../../dependencies.ts';
import { hashed } from '../../domain/limit-keys.ts';

export interface SmsBudget {
  /** 429 when the day's SMS to this phone are spent. */
  takeSignedIn(phone: string): Promise<void>;
  /** False when nothing may be sent. The last SMS of a day to the phone is kept for networks that the account knows. */
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
    // The same count, so that whatever order they come in, one is left for the owner.
    const points = isKnownNetwork ? perPhone.points : ofUnknownNetworks(perPhone.points);
    if (!(await limiter.consume({ ...perPhone, points }, hashed(phone))).allowed) return false;
    const { allowed, limit, remaining } = await limiter.consume(limits.anonymousSms, 'all');
    const used = limit - remaining;
    const alertAt = Math.ceil(limit * ALERT_SHARE);
    // Each count is seen by one call only, so that each text is logged once a day over all replicas.
    if (allowed && (used === alertAt || used === limit)) {
      log.error(
        { used, limit },
        'the daily limit of SMS that are asked for anonymously is nearly or wholly used',
      );
    }
    anonymousSmsCounter.inc({ budget: !allowed ? 'spent' : used >= alertAt ? 'alert' : 'ok' });
    return allowed;
  },
});
