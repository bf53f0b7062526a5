/**
 * `npm run restore:identity -- --operator <name> --backup <id> --lost-at <time>` completes a restore of identity's database from a
 * backup.
 *
 * Run it after `npm run upgrade -- identity` and before any service starts. Otherwise a job of identity would erase the
 * accounts that are due in the backup, although members may have cancelled since.
 *
 * It ends every credential of the backup, repeats the erasures in the journal, and gives every pending deletion the whole
 * grace period. No new account gets an id that the journals name. It needs MongoDB, Redis and RabbitMQ, but no service: events
 * wait in the outbox. It refuses a journal that is not complete; `--without-journal` overrides. The operator's name is recorded in
 * the audit log. It may be repeated. The exit codes are those of `npm run rebuild:identity`, and 64 for wrong usage.
 */
import { pluralize } from '@fitness/shared/kernel/pluralize.ts';
import { runRestore } from '@fitness/shared/runtime/restore.ts';
import { readConfig } from './config.ts';
import { createDependencies } from './dependencies.ts';
import { createUseCases } from './use-cases.ts';

/**
 * Each process has a journal of its own on other servers, so identity does not see every account that was opened since the backup. It
 * skips at least this many ids.
 */
const LEAST_SKIPPED = 10_000;

await runRestore(
  'identity',
  readConfig,
  async (runtime, config, { operator, progress, readJournal }) => {
    const dependencies = await createDependencies(runtime, config);
    const { endRestoredCredentials, postponeRestoredDeletions, repeatErasures } =
      createUseCases(dependencies);
    const { newestUserId = 0 } = (await readJournal()) ?? {};
    const { sequences } = dependencies;
    await sequences.skip('users', Math.max(newestUserId, (await sequences.last('users')) + LEAST_SKIPPED));
    const ended = await endRestoredCredentials((deleted) => {
      progress.expect(deleted);
      progress.advance('credentials ended', deleted);
    });
    const { erased, published, scheduled, unknown } = await repeatErasures(operator);
    const postponed = await postponeRestoredDeletions();
    return [
      `The journal also has ${pluralize(published, 'account')} that the backup knows as erased and ${unknown} that it does not know.`,
      ...(scheduled === 0
        ? []
        : [
            `${pluralize(scheduled, 'erasure was', 'erasures were')} begun without a known end: scheduled again, and the members can cancel.`,
          ]),
      `Gave ${pluralize(postponed, 'pending deletion')} of the backup the whole grace period: members may have cancelled theirs since.`,
      `Ended ${pluralize(ended, 'credential')} of the backup. Erased ${pluralize(erased, 'account')} again.`,
    ];
  },
  { needsOperator: true },
);
