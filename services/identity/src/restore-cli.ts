/**
 * `npm run restore:identity -- --operator <name>` completes a restore of identity's database from a backup.
 *
 * Run it after `npm run upgrade -- identity` and before any service starts. Otherwise a job of identity would erase the
 * accounts that are due in the backup, although members may have cancelled since.
 *
 * It ends every credential of the backup, repeats the erasures in the journal, and gives every pending deletion the whole
 * grace period. It needs MongoDB, Redis and RabbitMQ, but no service: events wait in the outbox. The name is recorded in
 * the audit log. It may be repeated. The exit codes are those of `npm run rebuild:identity`, and 64 for wrong usage.
 */
import { parseArgs } from 'node:util';
import { counted } from '@fitness/shared/kernel/counted.ts';
import { runRebuild } from '@fitness/shared/runtime/rebuild.ts';
import { readConfig } from './config.ts';
import { createDependencies } from './dependencies.ts';
import { createUseCases } from './use-cases.ts';

const EXIT_USAGE = 64;
const MAX_NAME = 100;

const readOperator = (): string => {
  try {
    const { values } = parseArgs({ options: { operator: { type: 'string' } } });
    return (values.operator ?? '').trim().slice(0, MAX_NAME);
  } catch {
    return '';
  }
};

const operator = readOperator();
if (operator === '') {
  process.stderr.write('usage: restore-cli.ts --operator <name>\n');
  process.exitCode = EXIT_USAGE;
} else {
  await runRebuild('identity', readConfig, async (runtime, config, progress) => {
    const { endRestoredCredentials, postponeRestoredDeletions, repeatErasures } = createUseCases(
      await createDependencies(runtime, config),
    );
    const ended = await endRestoredCredentials((deleted) => {
      progress.expect(deleted);
      progress.advance('credentials ended', deleted);
    });
    const { erased, published, scheduled, unknown } = await repeatErasures(operator);
    const postponed = await postponeRestoredDeletions();
    return [
      `Ended ${counted(ended, 'credential')} of the backup. Erased ${counted(erased, 'account')} again.`,
      `The journal also has ${counted(published, 'account')} that the backup knows as erased and ${unknown} that it does not know.`,
      ...(scheduled === 0
        ? []
        : [
            `${counted(scheduled, 'erasure was', 'erasures were')} begun without a known end: scheduled again, and the members can cancel.`,
          ]),
      `Gave ${counted(postponed, 'pending deletion')} of the backup the whole grace period: members may have cancelled theirs since.`,
    ].join('\n');
  });
}
