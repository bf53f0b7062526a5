/** Audit log entries for the audit page, its CSV file and the member pages. */
import type { Schemas } from '@fitness/client';
import { message } from '@fitness/shared/kernel/error.ts';
import { isolate } from '@fitness/shared/pages/html.ts';
import { type AuditNames, actionName, fieldValue, labelOf, subjectName, usersIn } from './audit-fields.ts';
import { call, type InputOf } from './call.ts';
import { type Content, cell, idText, link, table, view } from './content.ts';
import { readNames } from './members.ts';
import type { Operator } from './operator.ts';
import { readRoles, rolesCall, roleTitle, without } from './roles.ts';
import { updateGym } from './sections/licenses.ts';

export type Entry = Schemas['AuditEntry'];

export const auditCall = call('GET /audit-log', ['audit.view']);
export type AuditFilters = NonNullable<InputOf<'GET /audit-log'>['query']>;

export interface Difference {
  field: string;
  before: unknown;
  after: unknown;
}

/** The fields that the entry names, by path. Values of an unrecorded state are undefined. */
export const differencesOf = ({ before, after }: Pick<Entry, 'before' | 'after'>): Difference[] => {
  const fields = new Set([...Object.keys(before ?? {}), ...Object.keys(after ?? {})]);
  return [...fields].map((field) => ({ field, before: before?.[field], after: after?.[field] }));
};

const accountsIn = (entries: readonly Entry[]): (number | null)[] =>
  entries.flatMap(({ actor_id: actor, subject_type: type, subject_id: subject, before, after }) => [
    actor,
    type === 'user' ? subject : null,
    ...usersIn(before),
    ...usersIn(after),
  ]);

const namesRole = ({ subject_type: type, before, after }: Entry): boolean =>
  type === 'role' || 'role_ids' in { ...before, ...after };

/** Reads the names of accounts and roles in the entries, and of the accounts in `more`. */
export const readAuditNames = async (
  operator: Operator,
  entries: readonly Entry[],
  more: readonly number[] = [],
): Promise<AuditNames> => {
  const needsRoles = rolesCall.isFor(operator) && entries.some(namesRole);
  const [users, roles] = await Promise.all([
    readNames(operator, [...accountsIn(entries), ...more]),
    needsRoles ? readRoles(operator) : [],
  ]);
  return { users, roles: new Map(roles.map((role) => [role.id, roleTitle(operator.t, role)])) };
};

/** Maximum characters on the page, because a text may be as long as a post. The CSV file has the full text. */
const SHOWN_MAX = 200;

const shortened = (text: string): string =>
  text.length > SHOWN_MAX ? `${text.slice(0, SHOWN_MAX).trimEnd()}…` : text;

const shownValue = (operator: Operator, field: string, value: unknown, names: AuditNames): Content => {
  const { text, userId } = fieldValue(operator, field, value, names);
  return userId === undefined
    ? view`<bdi>${shortened(text)}</bdi>`
    : cell.member(names.users.get(userId), userId);
};

const isSame = (one: unknown, other: unknown): boolean => JSON.stringify(one) === JSON.stringify(other);

const isRightToLeft = ({ t }: Operator): boolean => t(message('language.direction')) === 'rtl';

/** The entries that were added to a list, and those that were removed. */
const listChange = (
  operator: Operator,
  field: string,
  [old, current]: readonly [readonly unknown[], readonly unknown[]],
  names: AuditNames,
): Content => {
  const textsOf = (key: 'ops.audit.added' | 'ops.audit.removed', entries: readonly unknown[]): string[] => {
    if (entries.length === 0) return [];
    const text = isolate(shortened(fieldValue(operator, field, entries, names).text));
    return [operator.t(message(key, { names: text }))];
  };
  const removed = textsOf('ops.audit.removed', without(old, current, JSON.stringify));
  const added = textsOf('ops.audit.added', without(current, old, JSON.stringify));
  return [...removed, ...added].join(isRightToLeft(operator) ? '؛ ' : '; ');
};

/** One line about a field. Shows a single value if it is unchanged or only one state was recorded. Undefined if both values are empty. */
const changeOf = (
  operator: Operator,
  { before, after }: Entry,
  { field, before: old = null, after: current = null }: Difference,
  names: AuditNames,
): Content => {
  const value = (stored: unknown): Content => shownValue(operator, field, stored, names);
  const labelled = (text: Content): Content =>
    view`<span class="quiet">${labelOf(operator, field)}:</span> ${text}`;
  if (before === null || after === null || isSame(old, current)) {
    const only = current ?? old;
    return only === null ? undefined : labelled(value(only));
  }
  if (Array.isArray(old) && Array.isArray(current))
    return labelled(listChange(operator, field, [old, current], names));
  return labelled(view`${value(old)} ${isRightToLeft(operator) ? '←' : '→'} ${value(current)}`);
};

const changesOf = (operator: Operator, entry: Entry, names: AuditNames): Content => {
  const lines = differencesOf(entry)
    .map((change) => changeOf(operator, entry, change, names))
    .filter((line) => line !== undefined);
  return lines.length > 0 && view`<ul class="plain">${lines.map((line) => view`<li>${line}</li>\n`)}</ul>`;
};

/** The subject in words, such as `Role Operator` or `Gym #4`. */
export const subjectText = (operator: Operator, entry: Entry, { users, roles }: AuditNames): string => {
  const { subject_type: type, subject_id: id } = entry;
  const kind = subjectName(operator, type);
  if (id === null) return kind;
  const name = type === 'user' ? users.get(id)?.username : type === 'role' ? roles.get(id) : undefined;
  return `${kind} ${name ?? idText(operator.t, id)}`;
};

const subjectOf = (operator: Operator, entry: Entry, { users, roles }: AuditNames): Content => {
  const { subject_type: type, subject_id: id } = entry;
  if (type === 'user' && id !== null) return cell.member(users.get(id), id);
  const kind = subjectName(operator, type);
  if (id === null) return view`${kind}`;
  if (type === 'role' && roles.has(id)) return view`${kind} <bdi>${roles.get(id)}</bdi>`;
  const text = view`${kind} <bdi dir="ltr">${message('language.id', { id })}</bdi>`;
  return type === 'gym' && updateGym.isFor(operator) ? link(text, 'licenses', { kind: 'gym', id }) : text;
};

/** Undefined if there are no entries. */
export const auditTable = (
  operator: Operator,
  entries: readonly Entry[],
  names: AuditNames,
): Content | undefined =>
  table(
    [
      ['ops.audit.at', ({ created_at: at }) => cell.time(at)],
      [
        'ops.audit.actor',
        ({ actor_id: id }) =>
          id === null ? view`${message('ops.audit.command')}` : cell.member(names.users.get(id), id),
      ],
      ['ops.audit.action', ({ action }) => view`${actionName(operator, action)}`],
      ['ops.audit.subject', (entry) => subjectOf(operator, entry, names)],
      ['ops.audit.changes', (entry) => changesOf(operator, entry, names)],
    ],
    entries,
  );
