/** Stores the results of the last audits for the metrics of a service, because audits are separate processes. */
import type { Connection } from 'mongoose';
import { type Clock, SECOND_MS } from '../kernel/clock.ts';
import type { Metrics } from '../kernel/metrics.ts';
import { collectionPrivacy, retain } from '../mongo/privacy.ts';

/** `log`: the audit log, which each service has. `ledger`: the payments of the wallet. */
export type AuditName = 'log' | 'ledger';

interface AuditResult {
  _id: AuditName;
  checked_at: Date;
  is_intact: boolean;
}

export const AUDIT_RESULTS = 'audit_results';

collectionPrivacy<AuditResult>(
  AUDIT_RESULTS,
  retain('when an audit ended and whether it found a difference', '_id', 'checked_at', 'is_intact'),
);

const resultsOf = (connection: Connection) => connection.collection<AuditResult>(AUDIT_RESULTS);

/** Returns the problem as a sentence instead of throwing: the result of the audit matters more than its record. */
export const recordAuditResult = async (
  connection: Connection,
  audit: AuditName,
  isIntact: boolean,
  clock: Clock,
): Promise<string | undefined> => {
  const $set = { checked_at: clock.now(), is_intact: isIntact };
  try {
    await resultsOf(connection).updateOne({ _id: audit }, { $set }, { upsert: true });
    return undefined;
  } catch (error) {
    return `The result was not recorded, so the metrics show the one before: ${(error as Error).message}`;
  }
};

/** An audit that never ran is reported as intact at the time 0, which raises the alert on its age. */
export const addAuditMetrics = (
  metrics: Metrics,
  connection: Connection,
  audits: readonly AuditName[],
): void => {
  metrics.readGauges({
    gauges: {
      audit_last_run_timestamp_seconds: 'When the audit ended last: seconds since 1970, 0 before the first',
      audit_intact: '1 when the last audit found no difference',
    },
    labelNames: ['audit'],
    read: async () => {
      const results = await resultsOf(connection).find().toArray();
      return audits.map((audit) => {
        const result = results.find(({ _id }) => _id === audit);
        return {
          labels: { audit },
          values: {
            audit_last_run_timestamp_seconds: (result?.checked_at.getTime() ?? 0) / SECOND_MS,
            audit_intact: Number(result?.is_intact ?? true),
          },
        };
      });
    },
  });
};
