/**
 * `npm run audit:wallet` recomputes every balance and account from the rows, and checks the ledger against its seals. Progress
 * is on stderr. `npm run audit:wallet -- 12:ab34…` also checks that the chain still contains this head, noted from an earlier
 * audit or from the log of the service.
 *
 * Exits 1 after it has printed the first difference, and 78 for an invalid configuration. Exits 2 when it could not check, or
 * could not record that there is no difference.
 */
import { recordAuditResult } from '@fitness/shared/audit/results.ts';
import { systemClock } from '@fitness/shared/kernel/clock.ts';
import { ConfigError } from '@fitness/shared/kernel/config.ts';
import { createLog } from '@fitness/shared/kernel/log.ts';
import { pluralize } from '@fitness/shared/kernel/pluralize.ts';
import { withProgress } from '@fitness/shared/kernel/progress.mjs';
import { type NotedHead, readHead } from '@fitness/shared/kernel/seal.ts';
import { type Connection, connectMongo } from '@fitness/shared/mongo/connect.ts';
import { createSequences } from '@fitness/shared/mongo/sequence.ts';
import { createCleanup } from '@fitness/shared/runtime/lifecycle.ts';
import { type AuditReport, createAuditWallets, MAX_ERASED } from './app/audit-wallets.ts';
import { type AuditConfig, readAuditConfig, sealsDatabase } from './config.ts';
import { createSeals } from './store/seals.ts';
import { createStore } from './store/store.ts';

const EXIT_DIFFERENCE = 1;
const EXIT_FAILED = 2;
const EXIT_CONFIG = 78;

const notedHead = (): NotedHead | undefined => {
  const text = process.argv[2];
  if (text === undefined) return undefined;
  const head = readHead(text);
  if (head === undefined) throw new Error(`Not the head of a chain, <number>:<hash>: ${text}`);
  return head;
};

const lines = (report: AuditReport): string[] => {
  const { seals, entries, payments, wallets, accounts, head, unsealed, disputedDeposits } = report;
  const erased = report.erasedWithBalance.map(({ userId, balance }) => `user ${userId} ${balance}`);
  const shown = erased.slice(0, MAX_ERASED).join(', ');
  const read = [
    pluralize(payments, 'payment'),
    pluralize(entries, 'entry', 'entries'),
    pluralize(wallets, 'wallet'),
    pluralize(seals, 'seal'),
  ].join(', ');
  if (report.difference !== undefined) return [`Checked ${read}: ${report.difference}`];
  const totals = Object.entries(accounts).map(([account, amount]) => `${account} ${amount}`);
  return [
    `accounts: ${totals.join(', ')}`,
    `head: ${head ?? 'nothing is sealed yet'}`,
    ...(unsealed === 0 ? [] : [`${pluralize(unsealed, 'entry is', 'entries are')} not sealed yet`]),
    ...(disputedDeposits.ids.length === 0
      ? []
      : [
          `disputed deposits: ${disputedDeposits.ids.join(', ')}${disputedDeposits.areAll ? '' : ', and older ones'}`,
        ]),
    ...(erased.length === 0
      ? []
      : [`erased accounts with a balance: ${shown}${erased.length > MAX_ERASED ? ', and more' : ''}`]),
    `Checked ${read}: everything adds up.`,
  ];
};

const audit = async (config: AuditConfig): Promise<number> => {
  const noted = notedHead();
  const log = createLog({ service: 'audit', level: 'error' });
  const cleanup = createCleanup();
  const connect = async (target: { uri: string; database: string }): Promise<Connection> => {
    // Unlike a service, the command does not start together with its databases, so it does not wait for them.
    const connection = await connectMongo({ ...target, log, appName: 'wallet-audit', startTimeoutMs: 0 });
    cleanup.defer('mongodb', () => connection.close());
    return connection;
  };
  try {
    const ledger = await connect({ uri: config.MONGODB_URI, database: config.MONGODB_DATABASE });
    const seals = createSeals(await connect(sealsDatabase(config)));
    const store = createStore(ledger, createSequences(ledger), systemClock);
    const report = await withProgress((progress) => createAuditWallets({ store, seals })(noted, progress));
    process.stdout.write(`${lines(report).join('\n')}\n`);
    const isIntact = report.difference === undefined;
    const problem = await recordAuditResult(ledger, 'ledger', isIntact, systemClock);
    if (problem !== undefined) process.stderr.write(`${problem}\n`);
    if (!isIntact) return EXIT_DIFFERENCE;
    return problem === undefined ? 0 : EXIT_FAILED;
  } finally {
    // An open connection would keep the process alive.
    await cleanup.close();
  }
};

try {
  process.exitCode = await audit(readAuditConfig());
} catch (error) {
  process.stderr.write(`${(error as Error).message}\n`);
  process.exitCode = error instanceof ConfigError ? EXIT_CONFIG : EXIT_FAILED;
}
