/**
 * Markers of backups in the journals. A backup writes its id into every journal, so a restore notices a journal that is empty or
 * older than the backup. Plain JavaScript: `npm run backup` and `npm run restore` use it, too.
 */
import { open, readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';

/** The folders of all journals below `JOURNAL_DIRECTORY`. */
export const JOURNALS = /** @type {const} */ (['erasures', 'deposits', 'payouts', 'store-purchases']);

/** @typedef {(typeof JOURNALS)[number]} JournalName */

/** It does not end like an entry, so the clean-up of old entries spares it. @param {string} id */
const markerOf = (id) => `${id}.backup`;

/** Whether a marker can have this id, which becomes the name of a file. @param {string} id */
export const isMarkerId = (id) => /^\w[\w.-]{0,99}$/.test(id);

/** The journals that `directory` has. @param {string} directory @returns {Promise<JournalName[]>} */
async function journalsIn(directory) {
  const present = await readdir(directory).catch(missing);
  return JOURNALS.filter((name) => present.includes(name));
}

/**
 * Writes the marker of a backup into every journal of `directory`. It must happen before the data is copied. Rejects when there is no
 * journal, and for an id that was used before.
 * @param {string} directory
 * @param {string} id
 * @returns {Promise<JournalName[]>} the journals that have it now
 */
export async function markJournals(directory, id) {
  const names = await journalsIn(directory);
  if (names.length === 0) throw new Error(`there is no journal in ${directory}`);
  for (const name of names) {
    const file = await open(join(directory, name, markerOf(id)), 'wx', 0o600);
    await file
      .writeFile(`${new Date().toISOString()}\n`)
      .then(() => file.sync())
      .finally(() => file.close());
    const folder = await open(join(directory, name));
    await folder.sync().finally(() => folder.close());
  }
  return names;
}

/**
 * @typedef {object} JournalsState
 * @property {number} entries
 * @property {Date | undefined} markedAt when the backup was made, according to its markers
 * @property {Date | undefined} newestAt the newest time in an entry or a marker of the backup
 * @property {number} newestUserId the largest user id in an entry; 0 without entries
 */

/**
 * Reads the journals for a restore of the backup `id`. Rejects when one of `names` lacks its marker, and when no entry is as new as the
 * loss of the data.
 * @param {string} directory
 * @param {{ id: string, lostAt: Date }} restore
 * @param {readonly JournalName[]} [names] all that `directory` has, by default
 * @returns {Promise<JournalsState>}
 */
export async function readJournals(directory, { id, lostAt }, names) {
  const expected = names ?? (await journalsIn(directory));
  /** @type {JournalsState} */
  const state = { entries: 0, markedAt: undefined, newestAt: undefined, newestUserId: 0 };
  if (expected.length === 0) throw new Error(`there is no journal in ${directory}`);
  for (const name of expected) {
    const files = await readdir(join(directory, name)).catch(missing);
    if (!files.includes(markerOf(id)))
      throw new Error(
        `the journal ${join(directory, name)} lacks the marker of the backup, ${markerOf(id)}: it is empty, or older than the backup. Accounts that were erased since the backup would come back, and what was paid since would be lost`,
      );
    for (const file of files) {
      const isMarker = file === markerOf(id);
      if (!isMarker && !file.endsWith('.json')) continue;
      // An entry may be settled meanwhile.
      const text = await readFile(join(directory, name, file), 'utf8').catch(missing);
      const at = newestTimeIn(text.toString());
      if (isMarker) state.markedAt = at;
      else addEntry(state, text.toString());
      if (at !== undefined && !(state.newestAt !== undefined && state.newestAt > at)) state.newestAt = at;
    }
  }
  const { newestAt = new Date(0) } = state;
  if (newestAt < lostAt)
    throw new Error(
      `the newest entry in ${directory} is of ${newestAt.toISOString()}, before the loss of the data at ${lostAt.toISOString()}: a copy that stopped after the backup looks like this. Complete it. If nothing was erased, opened, paid or bought in between, pass --lost-at ${newestAt.toISOString()}`,
    );
  return state;
}

/** @param {JournalsState} state @param {string} text */
function addEntry(state, text) {
  state.entries += 1;
  const userId = Number(/"user_id":(\d+)/.exec(text)?.[1] ?? 0);
  state.newestUserId = Math.max(state.newestUserId, userId);
}

/** @param {string} text @returns {Date | undefined} */
function newestTimeIn(text) {
  const times = text.match(/\d{4}-\d\d-\d\dT[\d:.]+Z/g)?.map((time) => Date.parse(time)) ?? [];
  return times.length === 0 ? undefined : new Date(Math.max(...times));
}

/** @param {NodeJS.ErrnoException} error @returns {string[]} */
function missing(error) {
  if (error.code !== 'ENOENT') throw error;
  return [];
}
