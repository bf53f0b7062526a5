/**
 * Creates a user with a password for each process at each server:
 *
 *   node packages/shared/src/process-identity/provisioning/credentials-cli.ts <directory>
 *     [--mongodb <address>] [--redis <address>] [--rabbitmq <address>]
 *
 * The addresses are those of the servers without a user; by default those of docker-compose.yml. A user is in the database of its
 * process, unless the address of MongoDB has an `authSource`. Reads EVENTS_NAMESPACE (fitness).
 * Existing files stay, so it can be repeated. To change a password, delete its file first. Exit codes: 0 done, 64 wrong
 * usage, 78 a variable that is the same for all processes.
 */
import { parseArgs } from 'node:util';
import { writeCredentials } from './credentials.ts';

const USAGE =
  'usage: credentials-cli.ts <directory> [--mongodb <address>] [--redis <address>] [--rabbitmq <address>], addresses without a user';
const EXIT_FAILED = 1;
const EXIT_USAGE = 64;
const EXIT_CONFIG = 78;

const printError = (line: string): void => void process.stderr.write(`${line}\n`);

const readArguments = () => {
  try {
    const { positionals, values } = parseArgs({
      allowPositionals: true,
      options: {
        mongodb: { type: 'string', default: 'mongodb://mongodb:27017/?replicaSet=rs0' },
        redis: { type: 'string', default: 'redis://redis:6379' },
        rabbitmq: { type: 'string', default: 'amqp://rabbitmq:5672' },
      },
    });
    const [directory, ...rest] = positionals;
    const haveUser = Object.values(values).some((address) => /:\/\/[^/?]*@/.test(address));
    return directory === undefined || rest.length > 0 || haveUser
      ? undefined
      : { directory, servers: values };
  } catch {
    return undefined;
  }
};

const main = (): number => {
  const args = readArguments();
  if (args === undefined) {
    printError(USAGE);
    return EXIT_USAGE;
  }
  const { MONGODB_URI, REDIS_URL, AMQP_URL } = process.env;
  const shared = Object.entries({ MONGODB_URI, REDIS_URL, AMQP_URL }).filter(([, value]) => value);
  if (shared.length > 0) {
    const names = shared.map(([name]) => name).join(', ');
    printError(`Wrong configuration: ${names}: each process has its own, such as IDENTITY_${shared[0]?.[0]}`);
    return EXIT_CONFIG;
  }
  writeCredentials({ ...args, namespace: process.env.EVENTS_NAMESPACE || 'fitness' });
  process.stdout.write(`Every process has its users and passwords in ${args.directory}.\n`);
  return 0;
};

try {
  process.exitCode = main();
} catch (error) {
  printError(`failed: ${(error as Error).message}`);
  process.exitCode = EXIT_FAILED;
}
