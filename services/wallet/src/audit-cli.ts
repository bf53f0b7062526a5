/** `npm run audit:wallet`: recomputes every balance from its rows; names the first difference and exits 1. */
import { systemClock } from '@fitness/shared/clock.ts';
import { ConfigError } from '@fitness/shared/config.ts';
import { createLog } from '@fitness/shared/log.ts';
import { connectMongo } from '@fitness/shared/mongo/connect.ts';
import { createSequences } from '@fitness/shared/mongo/sequence.ts';
import { createAuditWallets } from './app/audit-wallets.ts';
import { type AuditConfig, readAuditConfig } from './config.ts';
import { createStore } from './store/store.ts';

const EXIT_DIFFERENCE = 1;
const EXIT_FAILED = 2;
const EXIT_CONFIG = 78;

const audit = async (config: AuditConfig): Promise<number> => {
  const connection = await connectMongo({
    uri: config.MONGODB_URI,
    database: config.MONGODB_DATABASE,
    log: createLog({ service: 'audit', level: 'error' }),
    appName: 'wallet-audit',
  });
  try {
    const store = createStore({ connection, sequences: createSequences(connection), clock: systemClock });
    const { payments, entries, wallets, difference } = await createAuditWallets({ store })();
    const read = `${payments} payments, ${entries} entries, ${wallets} wallets`;
    if (difference === undefined) {
      process.stdout.write(`${read}: everything adds up\n`);
      return 0;
    }
    process.stdout.write(`${read}: ${difference}\n`);
    return EXIT_DIFFERENCE;
  } finally {
    await connection.close();
  }
};

try {
  process.exitCode = await audit(readAuditConfig());
} catch (error) {
  process.stderr.write(`${(error as Error).message}\n`);
  process.exitCode = error instanceof ConfigError ? EXIT_CONFIG : EXIT_FAILED;
}
