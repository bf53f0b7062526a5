/** Reads everything at one instant and lets the auditor's rules judge it. */
import { type AuditReport, createAudit } from '../domain/audit.ts';
import type { WalletDeps } from './deps.ts';

export type AuditWallets = () => Promise<AuditReport>;

export const createAuditWallets =
  ({ store }: Pick<WalletDeps, 'store'>): AuditWallets =>
  () =>
    // One transaction, so that bookings that go on meanwhile are seen wholly or not at all.
    store.transaction(async (session) => {
      const audit = createAudit();
      for await (const payment of store.payments.scan(session)) audit.payment(payment);
      for await (const entry of store.entries.scan(session)) audit.entry(entry);
      for await (const wallet of store.wallets.scan(session)) audit.wallet(wallet);
      return audit.report();
    });
