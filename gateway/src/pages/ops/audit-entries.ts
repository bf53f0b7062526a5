/** Entries of the audit log, on its page and on the pages of members. */
import { AUDIT_SUBJECTS } from '@fitness/shared/audit/actions.ts';
import { message } from '@fitness/shared/kernel/error.ts';
import { type Html, html, isolate } from '@fitness/shared/pages/html.ts';
import { time } from '../views.ts';
import { memberLink, type Names } from './members.ts';
import { type Column, type Operator, tableOf } from './section.ts';

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

/** Each field that the entry names, by its path. A state that was not recorded is empty. */
export const differencesOf = ({ before, after }: Pick<Entry, 'before' | 'after'>): Difference[] => {
  const fields = new Set([...Object.keys(before ?? {}), ...Object.keys(after ?? {})]);
  return [...fields].map((field) => ({ field, before: before?.[field], after: after?.[field] }));
};

/** The accounts that the entries name. */
export const accountsIn = (entries: readonly Entry[]): (number | null)[] =>
  entries.flatMap(({ actor_id: actor, subject_type: type, subject_id: subject }) => [
    actor,
    type === 'user' ? subject : null,
  ]);

const isErased = (value: unknown): boolean =>
  typeof value === 'object' && value !== null && 'erased' in value && value.erased === true;

const textOf = ({ t }: Operator, value: unknown): string => {
  if (value === null || value === undefined || value === '') return t(message('ops.audit.nothing'));
  if (isErased(value)) return t(message('ops.audit.erased'));
  return isolate(typeof value === 'string' ? value : JSON.stringify(value));
};

/** What one of two lists has and the other does not. */
const without = (sign: string, list: readonly unknown[], other: readonly unknown[]): string[] =>
  list.filter((entry) => !other.includes(entry)).map((entry) => `${sign}${String(entry)}`);

const isSame = (one: unknown, other: unknown): boolean => JSON.stringify(one) === JSON.stringify(other);

/** A value that has not changed, and one of an entry with one state only, stands alone. Undefined where there is nothing to say. */
const changeOf = (operator: Operator, { before, after }: Entry, change: Difference): string | undefined => {
  const field = isolate(change.field);
  const { before: old = null, after: current = null } = change;
  const { t } = operator;
  if (before === null || after === null || isSame(old, current)) {
    const value = current ?? old;
    return value === null ? undefined : `${field}: ${textOf(operator, value)}`;
  }
  if (Array.isArray(old) && Array.isArray(current)) {
    const changes = [...without('−', old, current), ...without('+', current, old)];
    return `${field}: ${isolate(changes.join(' '))}`;
  }
  const values = { before: textOf(operator, old), after: textOf(operator, current) };
  return t(message('ops.audit.change', { field, ...values }));
};

const changesOf = (operator: Operator, entry: Entry): Html | null => {
  const lines = differencesOf(entry)
    .map((change) => changeOf(operator, entry, change))
    .filter((line) => line !== undefined);
  return lines.length === 0
    ? null
    : html`<ul class="plain">${lines.map((line) => html`<li>${line}</li>\n`)}</ul>`;
};

export const subjectName = ({ t }: Operator, type: string): string => {
  const known = AUDIT_SUBJECTS.find((name) => name === type);
  return known === undefined ? type : t(message(`ops.subject.${known}`));
};

const subjectOf = (operator: Operator, entry: Entry, names: Names): Html => {
  const { subject_type: type, subject_id: id } = entry;
  if (type === 'user' && id !== null) return memberLink(operator, names.get(id), id);
  return html`${subjectName(operator, type)}${id !== null && html` <bdi dir="ltr">#${id}</bdi>`}`;
};

const actorOf = (operator: Operator, { actor_id: id }: Entry, names: Names): Html =>
  id === null ? html`${operator.t(message('ops.audit.command'))}` : memberLink(operator, names.get(id), id);

/** Undefined without entries. */
export const auditTable = (operator: Operator, entries: readonly Entry[], names: Names): Html | undefined => {
  const columns: readonly Column<Entry>[] = [
    { label: 'ops.audit.at', value: ({ created_at: at }) => time(operator, at) },
    { label: 'ops.audit.actor', value: (entry) => actorOf(operator, entry, names) },
    {
      label: 'ops.audit.action',
      value: ({ action }) => html`<span class="code word" dir="ltr">${action}</span>`,
    },
    { label: 'ops.audit.subject', value: (entry) => subjectOf(operator, entry, names) },
    { label: 'ops.audit.changes', value: (entry) => changesOf(operator, entry) },
  ];
  return tableOf(operator.t, columns, entries);
};
