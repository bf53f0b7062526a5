/**
 * `mark-backup-cli.ts <id>`: writes the marker of a backup into every journal in `JOURNAL_DIRECTORY`. It runs before a backup of other
 * servers, in each container that has journals. `npm run restore:<service>` asks for the id. Exit codes: 0 done, 1 failed, 64 wrong usage.
 */
import { DEFAULT_JOURNALS } from '../kernel/config.ts';
import { isMarkerId, markJournals } from '../kernel/journal-markers.mjs';

const EXIT_FAILED = 1;
const EXIT_USAGE = 64;

const [id = '', ...rest] = process.argv.slice(2);
if (!isMarkerId(id) || rest.length > 0) {
  process.stderr.write('usage: mark-backup-cli.ts <id of letters, digits, dots and hyphens>\n');
  process.exitCode = EXIT_USAGE;
} else {
  try {
    const names = await markJournals(process.env.JOURNAL_DIRECTORY || DEFAULT_JOURNALS, id);
    process.stdout.write(`Marked the journals for the backup ${id}: ${names.join(', ')}.\n`);
  } catch (error) {
    process.stderr.write(`failed: ${(error as Error).message}\n`);
    process.exitCode = EXIT_FAILED;
  }
}
