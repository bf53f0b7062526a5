/** Audit log entries for the audit page, its CSV file and the member pages. */
import { can } from '@fitness/shared/kernel/caller.ts';
import { message } from '@fitness/shared/kernel/error.ts';
import { type Html, html, isolate } from '@fitness/shared/pages/html.ts';
import { time } from '@fitness/shared/pages/views.ts';
import { type AuditNames, actionName, fieldValue, labelOf, subjectName, usersIn } from './audit-fields.ts';
import { memberLink, readNames } from './members.ts';
import { type Column, idText, type Operator, pathOf, tableOf } from './section.ts';
import { readRoles, roleTitle } from './sections/roles.ts';

export interface Entry {
  id: number;
  service: string;
  action: string;
  actor_id: number | null;
  subject_type: string;
  subject_id: number | null;
  request_id: string | null;
  before: Readonly<Record<string, unknown>> | null;
  after: Readonly<Record<string, unknown>> | null;
  created_at: string;
}

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
  const needsRoles = can(operator.caller, 'roles.manage') && entries.some(namesRole);
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

const shownValue = (operator: Operator, field: string, value: unknown, names: AuditNames): Html => {
  const { text, userId } = fieldValue(operator, field, value, names);
  if (userId === undefined) return html`<bdi>${shortened(text)}</bdi>`;
  return memberLink(operator, names.users.get(userId), userId);
};

const isSame = (one: unknown, other: unknown): boolean => JSON.stringify(one) === JSON.stringify(other);

const isRightToLeft = ({ t }: Operator): boolean => t(message('language.direction')) === 'rtl';

/** The entries of `list` that `other` lacks. */
const without = (list: readonly unknown[], other: readonly unknown[]): unknown[] =>
  list.filter((entry) => !other.some((one) => isSame(one, entry)));

/** The entries that were added to a list, and those that were removed. */
const listChange = (
  operator: Operator,
  field: string,
  [old, current]: readonly [readonly unknown[], readonly unknown[]],
  names: AuditNames,
): Html => {
  const part = (key: 'ops.audit.added' | 'ops.audit.removed', entries: readonly unknown[]): string[] => {
    if (entries.length === 0) return [];
    const text = isolate(shortened(fieldValue(operator, field, entries, names).text));
    return [operator.t(message(key, { names: text }))];
  };
  return html`${[...part('ops.audit.removed', without(old, current)), ...part('ops.audit.added', without(current, old))].join(isRightToLeft(operator) ? '؛ ' : '; ')}`;
};

/** One line about a field. Shows a single value if it is unchanged or only one state was recorded. Undefined if both values are empty. */
const changeOf = (
  operator: Operator,
  { before, after }: Entry,
  { field, before: old = null, after: current = null }: Difference,
  names: AuditNames,
): Html | undefined => {
  const value = (stored: unknown): Html => shownValue(operator, field, stored, names);
  const label = html`<span class="quiet">${labelOf(operator, field)}:</span> `;
  if (before === null || after === null || isSame(old, current)) {
    const only = current ?? old;
    return only === null ? undefined : html`${label}${value(only)}`;
  }
  if (Array.isArray(old) && Array.isArray(current))
    return html`${label}${listChange(operator, field, [old, current], names)}`;
  const arrow = isRightToLeft(operator) ? '←' : '→';
  return html`${label}${value(old)} ${arrow} ${value(current)}`;
};

const changesOf = (operator: Operator, entry: Entry, names: AuditNames): Html | null => {
  const lines = differencesOf(entry)
    .map((change) => changeOf(operator, entry, change, names))
    .filter((line) => line !== undefined);
  return lines.length === 0
    ? null
    : html`<ul class="plain">${lines.map((line) => html`<li>${line}</li>\n`)}</ul>`;
};

/** The subject in words, such as `Role Operator` or `Gym #4`. */
export const subjectText = (operator: Operator, entry: Entry, { users, roles }: AuditNames): string => {
  const { subject_type: type, subject_id: id } = entry;
  const kind = subjectName(operator, type);
  if (id === null) return kind;
  const name = type === 'user' ? users.get(id)?.username : type === 'role' ? roles.get(id) : undefined;
  return `${kind} ${name ?? idText(operator.t, id)}`;
};

const subjectOf = (operator: Operator, entry: Entry, names: AuditNames): Html => {
  const { subject_type: type, subject_id: id } = entry;
  if (type === 'user' && id !== null) return memberLink(operator, names.users.get(id), id);
  const kind = subjectName(operator, type);
  if (id === null) return html`${kind}`;
  if (type === 'role' && names.roles.has(id)) return html`${kind} <bdi>${names.roles.get(id)}</bdi>`;
  const text = html`${kind} <bdi dir="ltr">${idText(operator.t, id)}</bdi>`;
  return type === 'gym' && can(operator.caller, 'gyms.approve_license')
    ? html`<a href="${pathOf(operator, 'licenses', `&kind=gym&id=${id}`)}">${text}</a>`
    : text;
};

const actorOf = (operator: Operator, { actor_id: id }: Entry, { users }: AuditNames): Html =>
  id === null ? html`${operator.t(message('ops.audit.command'))}` : memberLink(operator, users.get(id), id);

/** Undefined if there are no entries. */
export const auditTable = (
  operator: Operator,
  entries: readonly Entry[],
  names: AuditNames,
): Html | undefined => {
  const columns: readonly Column<Entry>[] = [
    { label: 'ops.audit.at', value: ({ created_at: at }) => time(operator, at) },
    { label: 'ops.audit.actor', value: (entry) => actorOf(operator, entry, names) },
    { label: 'ops.audit.action', value: ({ action }) => html`${actionName(operator, action)}` },
    { label: 'ops.audit.subject', value: (entry) => subjectOf(operator, entry, names) },
    { label: 'ops.audit.changes', value: (entry) => changesOf(operator, entry, names) },
  ];
  return tableOf(operator.t, columns, entries);
};
