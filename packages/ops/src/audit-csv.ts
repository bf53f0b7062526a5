/**
 * The audit log as a CSV file, with one line per changed field. The first columns contain stored values for programs. The last ones contain
 * texts for people, in the language of the page.
 */
import { Readable } from 'node:stream';
import { formatTimestampIn } from '@fitness/shared/kernel/i18n/translate.ts';
import type { FastifyReply } from 'fastify';
import {
  type AuditFilters,
  auditCall,
  type Difference,
  differencesOf,
  type Entry,
  readAuditNames,
  subjectText,
} from './audit-entries.ts';
import { type AuditNames, actionName, fieldValue, labelOf } from './audit-fields.ts';
import type { Operator } from './operator.ts';

/** Without it, spreadsheets assume the computer's default encoding. */
const BYTE_ORDER_MARK = '\ufeff';
const HEAD = [
  ...['id', 'time_utc', 'service', 'operator_id', 'operator', 'action'],
  ...['subject_type', 'subject_id', 'field', 'before', 'after', 'request_id'],
  ...['time_text', 'action_text', 'subject_text', 'field_text', 'before_text', 'after_text'],
];

/** Characters that make a spreadsheet run a cell as a formula, including wide forms and leading white space. */
const FORMULA = /^\s*[=+\-@\uff1d\uff0b\uff0d\uff20]|^[\t\r\n]/;

/** Writes a cell. A leading apostrophe marks text that a spreadsheet would otherwise run as a formula. */
const cellOf = (value: unknown): string => {
  if (value === null || value === undefined) return '""';
  if (typeof value === 'number') return String(value);
  const text = typeof value === 'string' ? value : JSON.stringify(value);
  return `"${FORMULA.test(text) ? "'" : ''}${text.replaceAll('"', '""')}"`;
};

/** Writes a line as RFC 4180 defines it. */
export const csvLine = (values: readonly unknown[]): string => `${values.map(cellOf).join(',')}\r\n`;

const NO_CHANGE = { field: null, before: null, after: null };

/** Directional isolates, which pages need around names and files do not. */
const ISOLATES = /[\u2066-\u2069]/g;

/** The label and both values in words. An unrecorded state has no text. */
const textsOf = (
  operator: Operator,
  { before, after }: Entry,
  difference: Difference | typeof NO_CHANGE,
  names: AuditNames,
): (string | null)[] => {
  const { field } = difference;
  if (field === null) return [null, null, null];
  const text = (state: Entry['before'], value: unknown): string | null =>
    state === null ? null : fieldValue(operator, field, value, names).text.replace(ISOLATES, '');
  return [labelOf(operator, field), text(before, difference.before), text(after, difference.after)];
};

const linesOf = (operator: Operator, entry: Entry, names: AuditNames): string => {
  const { id, service, action, actor_id: actor, subject_type: type, subject_id: subject } = entry;
  const username = actor === null ? null : names.users.get(actor)?.username;
  const head = [id, entry.created_at, service, actor, username, action, type, subject];
  const texts = [
    formatTimestampIn(operator.locale, entry.created_at),
    actionName(operator, action),
    subjectText(operator, entry, names).replace(ISOLATES, ''),
  ];
  const differences = differencesOf(entry);
  return (differences.length === 0 ? [NO_CHANGE] : differences)
    .map((one) => {
      const { field, before, after } = one;
      const stored = [...head, field, before, after, entry.request_id];
      return csvLine([...stored, ...texts, ...textsOf(operator, entry, one, names)]);
    })
    .join('');
};

/** Yields one part per page of the API. The session and its permissions are checked for each page. */
async function* partsOf(operator: Operator, filters: AuditFilters) {
  yield BYTE_ORDER_MARK + csvLine(HEAD);
  let cursor: string | undefined;
  for (;;) {
    const query = { ...filters, cursor, per_page: 100 };
    const { data: entries, meta } = await auditCall.read(operator, { query });
    const names = await readAuditNames(operator, entries);
    yield entries.map((entry) => linesOf(operator, entry, names)).join('');
    if (meta?.next_cursor == null) return;
    cursor = meta.next_cursor;
  }
}

async function* after(first: string, rest: AsyncIterable<string>) {
  yield first;
  yield* rest;
}

/** Sends the file. An early error sets the status. A later one ends the response without its last chunk, so the download fails. */
export const sendAuditCsv = async (
  operator: Operator,
  filters: AuditFilters,
  reply: FastifyReply,
): Promise<FastifyReply> => {
  const parts = partsOf(operator, filters);
  const head = String((await parts.next()).value);
  const first = String((await parts.next()).value ?? '');
  return reply
    .headers({
      'content-type': 'text/csv; charset=utf-8',
      'content-disposition': 'attachment; filename="audit-log.csv"',
      'content-security-policy': "default-src 'none'; sandbox",
      'cache-control': 'no-store',
    })
    .send(Readable.from(after(head + first, parts)));
};
