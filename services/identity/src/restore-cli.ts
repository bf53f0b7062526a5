/**
 * `npm run restore:identity -- --operator <name>`: after a restore of its database from a backup and after `npm run upgrade -- identity`,
 * before any service starts: a job of identity erases what is due in the backup, and members may have cancelled since. Ends every credential
 * of the backup, repeats the erasures in the journal, and gives every pending deletion the whole grace period. It needs MongoDB, Redis
 * and RabbitMQ, and no service; events wait in the outbox for the services. The name is recorded in the audit log. Repeatable. Exit codes as those of `npm run rebuild:identity`, and 64 for wrong usage.
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
