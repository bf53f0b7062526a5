/**
 * `npm run audit:log`: verifies the audit logs of all services. `npm run audit:log -- wallet gyms=12:ab34…` verifies these,
 * and that the chain of gyms still contains this head, noted from an earlier run or from the log of the service.
 *
 * Reads MONGODB_URI, and the database of each service from `<SERVICE>_MONGODB_DATABASE` (`fitness_<service>`). A
 * MONGODB_DATABASE that differs from it is refused. Where a process may only read its own database, run the command there,
 * for one service. Exit codes: 0 everything is intact, 1 something was changed, 64 wrong usage. 2 means that the check
 * failed, or that its result could not be recorded.
 */
import { systemClock } from '../kernel/clock.ts';
import { databaseOf } from '../kernel/config.ts';
import { createLog } from '../kernel/log.ts';
import { pluralize } from '../kernel/pluralize.ts';
import { type Progress, withProgress } from '../kernel/progress.mjs';
import { type NotedHead, readHead } from '../kernel/seal.ts';
import { type Connection, connectMongo } from '../mongo/connect.ts';
import { type AuditLogReport, auditLogParts, checkAuditLog } from './check.ts';
import { AUDITED_SERVICES, isAudited } from './models.ts';
import { recordAuditResult } from './results.ts';

const USAGE = 'usage: audit-cli.ts [<service>[=<number>:<hash>] …]';
const EXIT_DIFFERENCE = 1;
const EXIT_FAILED = 2;
const EXIT_USAGE = 64;

interface Check {
  service: string;
  noted: NotedHead | undefined;
}

const printLine = (line: string): void => void process.stdout.write(`${line}\n`);
const printError = (line: string): void => void process.stderr.write(`${line}\n`);

/** Undefined for wrong arguments. */
const readArguments = (args: readonly string[]): Check[] | undefined => {
  if (args.length === 0) return AUDITED_SERVICES.map((service) => ({ service, noted: undefined }));
  const checks: Check[] = [];
  for (const argument of args) {
    const [service = '', head] = argument.split('=');
    const noted = head === undefined ? undefined : readHead(head);
    if (!isAudited(service) || (head !== undefined && noted === undefined)) return undefined;
    checks.push({ service, noted });
  }
  return checks;
};

const lineOf = (service: string, report: AuditLogReport): string => {
  const read = `${service}: ${pluralize(report.entries, 'entry', 'entries')}, ${pluralize(report.seals, 'seal')}`;
  if (report.difference !== undefined) return `${read}: ${report.difference}`;
  const waiting = report.unsealed === 0 ? '' : `, ${report.unsealed} not sealed yet`;
  return `${read}${waiting}: intact, head ${report.head ?? 'none'}`;
};

const withDatabase = async <T>(database: string, use: (connection: Connection) => Promise<T>): Promise<T> => {
  const connection = await connectMongo({
    uri: process.env.MONGODB_URI || 'mongodb://127.0.0.1:27017',
    database,
    log: createLog({ service: 'audit', level: 'error' }),
    appName: 'audit-log',
    // Unlike a service, the command does not start together with its databases: it does not wait for them.
    startTimeoutMs: 0,
  });
  try {
    return await use(connection);
  } finally {
    await connection.close();
  }
};

const checkAll = async (
  checks: readonly (Check & { database: string })[],
  progress: Progress,
): Promise<number> => {
  for (const { database } of checks) progress.expect(await withDatabase(database, auditLogParts));
  let [entries, changed, unrecorded] = [0, 0, 0];
  for (const { service, noted, database } of checks) {
    const report = await withDatabase(database, async (connection) => {
      const result = await checkAuditLog(connection, service, noted, progress);
      const isIntact = result.difference === undefined;
      return { ...result, problem: await recordAuditResult(connection, 'log', isIntact, systemClock) };
    });
    printLine(lineOf(service, report));
    if (report.problem !== undefined) {
      printError(`${service}: ${report.problem}`);
      unrecorded += 1;
    }
    entries += report.entries;
    if (report.difference !== undefined) changed += 1;
  }
  const checked = `Checked ${pluralize(entries, 'entry', 'entries')} in ${pluralize(checks.length, 'audit log')}`;
  const outcome =
    changed === 0 ? 'everything is intact' : `${pluralize(changed, 'log is', 'logs are')} not intact`;
  printLine(`${checked}: ${outcome}.`);
  if (changed > 0) return EXIT_DIFFERENCE;
  return unrecorded > 0 ? EXIT_FAILED : 0;
};

const main = async (): Promise<number> => {
  const requested = readArguments(process.argv.slice(2));
  if (requested === undefined) {
    printError(USAGE);
    return EXIT_USAGE;
  }
  const checks = requested.map((each) => ({ ...each, database: databaseOf(each.service, process.env) }));
  return withProgress((progress) => checkAll(checks, progress));
};

process.exitCode = await main().catch((error: unknown) => {
  printError(`failed: ${error instanceof Error ? error.message : String(error)}`);
  return EXIT_FAILED;
});
