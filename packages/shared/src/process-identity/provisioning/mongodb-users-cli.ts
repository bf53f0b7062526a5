/**
 * Creates the users of the processes in MongoDB, or updates them:
 *
 *   node packages/shared/src/process-identity/provisioning/mongodb-users-cli.ts <file>
 *   node packages/shared/src/process-identity/provisioning/mongodb-users-cli.ts --atlas [<file>]
 *
 * The file is `mongodb-users/passwords.json` of credentials-cli.ts. Reads MONGODB_URI, the address of an administrator,
 * and LEDGER_SEALS_DATABASE. With `--atlas` it connects to nothing and prints the roles and users as JSON for the API of Atlas,
 * with the passwords of the file if one is given. Exit codes: 0 done, 1 failed, 64 wrong usage.
 */
import { readFileSync } from 'node:fs';
import { parseArgs } from 'node:util';
import { pluralize } from '../../kernel/pluralize.ts';
import { connectMongo } from '../../mongo/connect.ts';
import { atlasUsers, createMongodbUsers } from './mongodb.ts';

const EXIT_FAILED = 1;
const EXIT_USAGE = 64;

const USAGE =
  'usage: MONGODB_URI=<address> mongodb-users-cli.ts <file>, or mongodb-users-cli.ts --atlas [<file>]';

const readPasswords = (file: string): Map<string, string> =>
  new Map(Object.entries(JSON.parse(readFileSync(file, 'utf8')) as Record<string, string>));

const readArguments = () => {
  try {
    return parseArgs({ allowPositionals: true, options: { atlas: { type: 'boolean', default: false } } });
  } catch {
    return undefined;
  }
};

const main = async (): Promise<number> => {
  const args = readArguments();
  const [file, ...rest] = args?.positionals ?? [];
  const { MONGODB_URI: uri } = process.env;
  const seals = process.env.LEDGER_SEALS_DATABASE || undefined;
  if (args?.values.atlas === true && rest.length === 0) {
    const passwords = file === undefined ? undefined : readPasswords(file);
    process.stdout.write(`${JSON.stringify(atlasUsers(seals, passwords), null, 2)}\n`);
    return 0;
  }
  if (file === undefined || rest.length > 0 || uri === undefined) {
    process.stderr.write(`${USAGE}\n`);
    return EXIT_USAGE;
  }
  const passwords = readPasswords(file);
  const connection = await connectMongo({ uri, database: 'admin', appName: 'mongodb-users' });
  try {
    await createMongodbUsers(connection, { passwords, seals });
    process.stdout.write(`Created or updated ${pluralize(passwords.size, 'user')} in MongoDB.\n`);
    return 0;
  } finally {
    await connection.close();
  }
};

process.exitCode = await main().catch((error: unknown) => {
  process.stderr.write(`failed: ${error instanceof Error ? error.message : String(error)}\n`);
  return EXIT_FAILED;
});
