import type { BlockerExtras } from '@fitness/shared/blocker-catalogue.ts';
import { formatTimestamp } from '@fitness/shared/clock.ts';
import { notFound } from '@fitness/shared/error.ts';
import type { BillingDeps } from '../deps.ts';

type Parts = Pick<BillingDeps, 'store' | 'clock'>;

/** A premium subscription that is still running (specification 4.1, rule 5). */
const evaluateActivePremium = async (
  { store, clock }: Parts,
  userId: number,
): Promise<BlockerExtras<'active_premium'> | undefined> => {
  const running = await store.grants.runningSubscriptions([userId], clock.now());
  if (running.length === 0) return undefined;
  const last = Math.max(...running.map(({ expiresAt }) => expiresAt.getTime()));
  return { expires_at: formatTimestamp(new Date(last)) };
};

/** Throws `not_found` for a code that this service does not own. `extras` are empty when nothing stands in the way. */
export type EvaluateBlocker = (
  userId: number,
  code: string,
) => Promise<{ applies: boolean; extras: Record<string, unknown> }>;

export const createEvaluateBlocker =
  (deps: Parts): EvaluateBlocker =>
  async (userId, code) => {
    if (code !== 'active_premium') throw notFound('not_found', `no blocker ${code} here`);
    const extras = await evaluateActivePremium(deps, userId);
    return { applies: extras !== undefined, extras: extras ?? {} };
  };
