/** Labels and localized values for the fields of audit entries. Both fall back to the stored text. */
import { MODEL } from '@fitness/contracts/model-names.ts';
import { message } from '@fitness/shared/kernel/error.ts';
import type { MessageKey } from '@fitness/shared/kernel/i18n/catalogue.ts';
import {
  formatDay,
  formatNumber,
  formatTimestampIn,
  formatWeekday,
} from '@fitness/shared/kernel/i18n/translate.ts';
import { idText, userName, wordOf } from './content.ts';
import type { Names } from './members.ts';
import type { Operator } from './operator.ts';

/** Names for the ids in entries. */
export interface AuditNames {
  users: Names;
  /** Role titles by id. Empty for an operator who may not read roles. */
  roles: ReadonlyMap<number, string>;
}

/** The text of a field value. `userId` is the member whom the text names. */
export interface FieldValue {
  text: string;
  userId?: number;
}

type Write = (operator: Operator, value: unknown, names: AuditNames) => string;

const APPROVED: Readonly<Record<string, MessageKey>> = {
  true: 'ops.license.approved',
  false: 'ops.license.rejected',
  null: 'ops.license.pending',
};
const MODELS: Readonly<Record<string, MessageKey>> = {
  [MODEL.gym]: 'ops.subject.gym',
  [MODEL.gymProfile]: 'ops.subject.gym',
  [MODEL.user]: 'ops.subject.user',
  [MODEL.post]: 'ops.subject.post',
  [MODEL.trainingService]: 'ops.subject.training_service',
};

const choice =
  (keys: Readonly<Record<string, MessageKey>>): Write =>
  ({ t }, value) => {
    const key = Object.hasOwn(keys, String(value)) ? keys[String(value)] : undefined;
    return key === undefined ? String(value) : t(message(key));
  };

/** The word for a stored value: the text `<kind>.<value>`. */
const word =
  (kind: string): Write =>
  ({ t }, value) =>
    wordOf(t, kind, String(value)) ?? String(value);

const measured =
  (key: 'ops.tooman' | 'ops.centimeters'): Write =>
  ({ t }, value) =>
    typeof value === 'number' ? t(message(key, { amount: value })) : String(value);

const idOr = ({ t }: Operator, value: unknown): string =>
  typeof value === 'number' ? idText(t, value) : String(value);

const user: Write = (operator, value, { users }) => {
  const named = users.get(Number(value));
  return named === undefined ? idOr(operator, value) : userName(named);
};

const role: Write = (operator, value, { roles }) => roles.get(Number(value)) ?? idOr(operator, value);

/** Formats a stored value by its type. */
const anything: Write = (operator, value, names) => {
  const { locale, t } = operator;
  if (typeof value === 'boolean') return t(message(value ? 'ops.yes' : 'ops.no'));
  if (typeof value === 'number') return formatNumber(locale, value);
  if (typeof value === 'object' && value !== null) return describe(operator, value, names);
  return formatTimestampIn(locale, String(value));
};

/** `Day: Monday, Opens at: 08:00`. */
const describe = (operator: Operator, value: object, names: AuditNames): string =>
  Object.entries(value)
    .map(([field, one]) => `${labelOf(operator, field)}: ${fieldValue(operator, field, one, names).text}`)
    .join(', ');

/** An id or a code, written exactly as stored so that it can be copied. */
const verbatim: Write = (_operator, value) =>
  typeof value === 'object' ? JSON.stringify(value) : String(value);

/** 0 is Saturday. */
const weekday: Write = ({ locale }, value) =>
  typeof value === 'number' ? formatWeekday(locale, value - 1) : String(value);

const day: Write = ({ locale }, value) => formatDay(locale, String(value));

interface FieldKind {
  /** Formats a value, or each entry of a list. Default: by the type of the value. */
  write?: Write;
  isUser?: true;
  /** Separator between the entries of a list. Default: a comma. */
  separator?: string;
  /** Whether null is a meaningful value, rather than an empty one. */
  isNullWritten?: true;
}

const VERBATIM = [
  ...['phone', 'bank_account_number', 'session_id', 'token_id', 'grant_id', 'system_user', 'product_id'],
  ...['trainer_license_image', 'trainer_license_media_id', 'license.image', 'license.mediaId', 'filename'],
  ...['lat', 'lng', 'cityId', 'majorIds', 'opensAt', 'closesAt', 'source', 'mime_type'],
  ...['meta.reference', 'refused.reference', 'refused.code', 'refused.mark'],
  ...['boostable_id', 'attachable_id', 'events'],
];
const USER: FieldKind = { write: user, isUser: true };
const APPROVAL: FieldKind = { write: choice(APPROVED), isNullWritten: true };

/** The fields that are not written by the type of their value. */
const FIELDS: Readonly<Record<string, FieldKind>> = {
  ...Object.fromEntries(VERBATIM.map((field) => [field, { write: verbatim }])),
  height: { write: measured('ops.centimeters') },
  birth_date: { write: day },
  gender: { write: word('ops.gender') },
  referrer_user_id: USER,
  ownerId: USER,
  user_id: USER,
  role_ids: { write: role },
  permissions: { write: word('ops.permission'), separator: ' · ' },
  trainer_license_approved: APPROVAL,
  'license.approved': APPROVAL,
  weekday: { write: weekday },
  price: { write: measured('ops.tooman') },
  amount: { write: measured('ops.tooman') },
  'gateway.state': { write: word('ops.payment') },
  'gateway.resolution.outcome': { write: word('ops.decision') },
  resolution: { write: word('ops.decision') },
  boostable_type: { write: choice(MODELS) },
  attachable_type: { write: choice(MODELS) },
  purpose: { write: word('ops.purpose') },
};

const kindOf = (field: string): FieldKind => (Object.hasOwn(FIELDS, field) ? FIELDS[field] : undefined) ?? {};

/** `someField.ofIt` as `some field of it`. */
const inWords = (field: string): string =>
  field
    .replaceAll(/([a-z])([A-Z])/g, '$1 $2')
    .replaceAll(/[._]+/g, ' ')
    .toLowerCase();

/** The text `<kind>.<name>`. A name of a newer release has none yet, and is shown in words. */
const textOf = ({ t }: Operator, kind: string, name: string): string =>
  wordOf(t, kind, name) ?? inWords(name);

export const labelOf = (operator: Operator, field: string): string => textOf(operator, 'ops.field', field);

export const actionName = (operator: Operator, action: string): string =>
  textOf(operator, 'ops.action', action);

export const subjectName = (operator: Operator, type: string): string =>
  textOf(operator, 'ops.subject', type);

const isMarked = (value: unknown, mark: 'erased' | 'changed'): boolean =>
  typeof value === 'object' && value !== null && (value as Record<string, unknown>)[mark] === true;

export const fieldValue = (
  operator: Operator,
  field: string,
  value: unknown,
  names: AuditNames,
): FieldValue => {
  const { t } = operator;
  const { write = anything, isUser, isNullWritten, separator = ', ' } = kindOf(field);
  if (isMarked(value, 'erased')) return { text: t(message('ops.audit.erased')) };
  if (isMarked(value, 'changed')) return { text: t(message('ops.audit.tampered')) };
  const isNull = value === undefined || value === null;
  if ((isNull && isNullWritten !== true) || value === '' || (Array.isArray(value) && value.length === 0))
    return { text: t(message('ops.audit.nothing')) };
  if (Array.isArray(value)) return { text: value.map((one) => write(operator, one, names)).join(separator) };
  return {
    text: write(operator, value ?? null, names),
    ...(isUser === true && typeof value === 'number' ? { userId: value } : {}),
  };
};

/** Ids of the accounts that a state names. */
export const usersIn = (state: Readonly<Record<string, unknown>> | null): number[] =>
  Object.entries(state ?? {}).flatMap(([field, value]) =>
    kindOf(field).isUser === true && typeof value === 'number' ? [value] : [],
  );
