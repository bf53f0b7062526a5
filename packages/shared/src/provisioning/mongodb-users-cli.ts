/**
 * Creates the users of the processes in MongoDB, or updates them:
 *
 *   node packages/shared/src/provisioning/mongodb-users-cli.ts <file>
 *
 * The file is `mongodb-users/passwords.json` of credentials-cli.ts. Reads MONGODB_URI, the address of an administrator,
 * and LEDGER_SEALS_DATABASE. Exit codes: 0 done, 1 failed, 64 wrong usage.
 */
import { readFileSync } from 'node:fs';
import { connectMongo } from '../mongo/connect.ts';
import { createMongodbUsers } from './mongodb.ts';

const EXIT_FAILED = 1;
const EXIT_USAGE = 64;

const main = async (): Promise<number> => {
  const [file] = process.argv.slice(2);
  const { MONGODB_URI: uri } = process.env;
  if (file === undefined || uri === undefined) {
    process.stderr.write('usage: MONGODB_URI=<address> mongodb-users-cli.ts <file>\n');
    return EXIT_USAGE;
  }
  const passwords = new Map(Object.entries(JSON.parse(readFileSync(file, 'utf8')) as Record<string, string>));
  const connection = await connectMongo({ uri, database: 'admin', appName: 'mongodb-users' });
  try {
    await createMongodbUsers(connection, {
      passwords,
      seals: process.env.LEDGER_SEALS_DATABASE || undefined,
    });
    return 0;
  } finally {
    await connection.close();
  }
};

process.exitCode = await main().catch((error: unknown) => {
  process.stderr.write(`failed: ${error instanceof Error ? error.message : String(error)}\n`);
  return EXIT_FAILED;
});
