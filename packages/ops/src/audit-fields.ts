/** Labels and localized values for the fields of audit entries. Both fall back to the stored text. */
import { MODEL } from '@fitness/contracts/model-names.ts';
import { AUDIT_ACTIONS, AUDIT_SUBJECTS } from '@fitness/shared/audit/actions.ts';
import { message } from '@fitness/shared/kernel/error.ts';
import type { MessageKey } from '@fitness/shared/kernel/i18n/catalogue.ts';
import {
  formatDay,
  formatNumber,
  formatTimestampIn,
  formatWeekday,
} from '@fitness/shared/kernel/i18n/translate.ts';
import { isPermission } from '@fitness/shared/kernel/permissions.ts';
import { idText, userName } from './content.ts';
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

const CHOICES = {
  approved: { true: 'ops.license.approved', false: 'ops.license.rejected', null: 'ops.license.pending' },
  gender: { male: 'ops.gender.male', female: 'ops.gender.female', other: 'ops.gender.other' },
  decision: {
    credited: 'ops.decision.credited',
    returned: 'ops.decision.returned',
    refunded: 'ops.decision.refunded',
    granted: 'ops.decision.granted',
  },
  deposit: {
    open: 'ops.payment.open',
    done: 'ops.payment.done',
    cancelled: 'ops.payment.cancelled',
    failed: 'ops.payment.failed',
    expired: 'ops.payment.expired',
    mismatch: 'ops.payment.disputed',
    returned: 'ops.decision.returned',
  },
  purpose: { gym_license: 'ops.purpose.gym_license', trainer_license: 'ops.purpose.trainer_license' },
  model: {
    [MODEL.gym]: 'ops.subject.gym',
    [MODEL.gymProfile]: 'ops.subject.gym',
    [MODEL.user]: 'ops.subject.user',
    [MODEL.post]: 'ops.subject.post',
    [MODEL.trainingService]: 'ops.subject.training_service',
  },
} as const satisfies Record<string, Readonly<Record<string, MessageKey>>>;

const choice =
  (name: keyof typeof CHOICES): Write =>
  ({ t }, value) => {
    const keys: Readonly<Record<string, MessageKey>> = CHOICES[name];
    const key = Object.hasOwn(keys, String(value)) ? keys[String(value)] : undefined;
    return key === undefined ? String(value) : t(message(key));
  };

const number: Write = ({ locale }, value) =>
  typeof value === 'number' ? formatNumber(locale, value) : String(value);

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

const permission: Write = ({ t }, value) => {
  const name = String(value);
  return isPermission(name) ? t(message(`ops.permission.${name}`)) : name;
};

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
  label: MessageKey;
  /** Formats a value, or each entry of a list. Default: by the type of the value. */
  write?: Write;
  isUser?: true;
  /** Separator between the entries of a list. Default: a comma. */
  separator?: string;
  /** Whether null is a meaningful value, rather than an empty one. */
  isNullWritten?: true;
}

const FIELDS: Readonly<Record<string, FieldKind>> = {
  username: { label: 'ops.field.username' },
  first_name: { label: 'ops.field.first_name' },
  last_name: { label: 'ops.field.last_name' },
  email: { label: 'ops.email' },
  phone: { label: 'ops.phone', write: verbatim },
  phone_proven: { label: 'ops.field.phone_proven' },
  height: { label: 'ops.field.height', write: measured('ops.centimeters') },
  birth_date: { label: 'ops.member.birth_date', write: day },
  gender: { label: 'ops.field.gender', write: choice('gender') },
  bank_account_number: { label: 'ops.bank_account', write: verbatim },
  is_trainer: { label: 'ops.field.trainer' },
  is_gym_owner: { label: 'ops.field.gym_owner' },
  referrer_user_id: { label: 'ops.member.referrer', write: user, isUser: true },
  role_ids: { label: 'ops.roles', write: role },
  permissions: { label: 'ops.permissions', write: permission, separator: ' · ' },
  armed: { label: 'ops.field.second_factor' },
  session_id: { label: 'ops.field.session', write: verbatim },
  token_id: { label: 'ops.field.token', write: verbatim },
  grant_id: { label: 'ops.field.app', write: verbatim },
  expires_at: { label: 'ops.member.expires' },
  ends_at: { label: 'ops.member.expires' },
  erased_at: { label: 'ops.field.erased_at' },
  first_erased_at: { label: 'ops.field.first_erased_at' },
  operator: { label: 'ops.audit.actor' },
  system_user: { label: 'ops.field.system_user', write: verbatim },
  trainer_license_image: { label: 'ops.license.id', write: verbatim },
  trainer_license_media_id: { label: 'ops.field.document_id', write: verbatim },
  trainer_license_approved: { label: 'ops.license.state', write: choice('approved'), isNullWritten: true },
  trainer_license_rejection_reason: { label: 'ops.reason' },
  trainer_license_reviewed_name: { label: 'ops.license.reviewed_name' },
  'license.image': { label: 'ops.license.id', write: verbatim },
  'license.mediaId': { label: 'ops.field.document_id', write: verbatim },
  'license.approved': { label: 'ops.license.state', write: choice('approved'), isNullWritten: true },
  'license.rejectionReason': { label: 'ops.reason' },
  'license.reviewedName': { label: 'ops.license.reviewed_name' },
  name: { label: 'ops.member.name' },
  title: { label: 'ops.field.title' },
  address: { label: 'ops.field.address' },
  lat: { label: 'ops.field.latitude', write: verbatim },
  lng: { label: 'ops.field.longitude', write: verbatim },
  description: { label: 'ops.description' },
  content: { label: 'ops.field.content' },
  isActive: { label: 'ops.field.shown' },
  is_active: { label: 'ops.field.shown' },
  is_draft: { label: 'ops.field.draft' },
  in_blog: { label: 'ops.field.in_blog' },
  showCrowd: { label: 'ops.field.shows_crowd' },
  crowd: { label: 'ops.field.crowd' },
  'crowd.current': { label: 'ops.field.crowd' },
  'crowd.capacity': { label: 'ops.field.capacity' },
  ownerId: { label: 'ops.field.owner', write: user, isUser: true },
  cityId: { label: 'ops.field.city', write: verbatim },
  majorIds: { label: 'ops.field.majors', write: verbatim },
  workingPeriods: { label: 'ops.field.working_hours' },
  weekday: { label: 'ops.field.weekday', write: weekday },
  opensAt: { label: 'ops.field.opens_at', write: verbatim },
  closesAt: { label: 'ops.field.closes_at', write: verbatim },
  price: { label: 'ops.member.price', write: measured('ops.tooman') },
  duration_days: { label: 'ops.field.duration_days', write: number },
  user_id: { label: 'ops.user', write: user, isUser: true },
  amount: { label: 'ops.amount', write: measured('ops.tooman') },
  is_done: { label: 'ops.field.done' },
  rejected_at: { label: 'ops.field.rejected_at' },
  'meta.reason': { label: 'ops.reason' },
  'meta.reference': { label: 'ops.field.reference', write: verbatim },
  'gateway.state': { label: 'ops.payment.state', write: choice('deposit') },
  'gateway.resolution.outcome': { label: 'ops.decision', write: choice('decision') },
  'gateway.resolution.note': { label: 'ops.field.note' },
  product_id: { label: 'ops.product', write: verbatim },
  resolution: { label: 'ops.decision', write: choice('decision') },
  note: { label: 'ops.field.note' },
  boostable_type: { label: 'ops.refund.target', write: choice('model') },
  boostable_id: { label: 'ops.field.target_id', write: verbatim },
  source: { label: 'ops.field.source', write: verbatim },
  attachable_type: { label: 'ops.field.attached_to', write: choice('model') },
  attachable_id: { label: 'ops.field.target_id', write: verbatim },
  purpose: { label: 'ops.field.purpose', write: choice('purpose') },
  filename: { label: 'ops.field.filename', write: verbatim },
  mime_type: { label: 'ops.field.file_type', write: verbatim },
  size: { label: 'ops.field.bytes', write: number },
  events: { label: 'ops.dead_letter.id', write: verbatim },
};

const kindOf = (field: string): FieldKind | undefined =>
  Object.hasOwn(FIELDS, field) ? FIELDS[field] : undefined;

/** `someField.ofIt` as `some field of it`. */
const inWords = (field: string): string =>
  field
    .replaceAll(/([a-z])([A-Z])/g, '$1 $2')
    .replaceAll(/[._]+/g, ' ')
    .toLowerCase();

export const labelOf = ({ t }: Operator, field: string): string => {
  const kind = kindOf(field);
  return kind === undefined ? inWords(field) : t(message(kind.label));
};

const isMarked = (value: unknown, mark: 'erased' | 'changed'): boolean =>
  typeof value === 'object' && value !== null && (value as Record<string, unknown>)[mark] === true;

export const fieldValue = (
  operator: Operator,
  field: string,
  value: unknown,
  names: AuditNames,
): FieldValue => {
  const { t } = operator;
  const { write = anything, isUser, isNullWritten, separator = ', ' } = kindOf(field) ?? {};
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
    kindOf(field)?.isUser === true && typeof value === 'number' ? [value] : [],
  );

export const actionName = ({ t }: Operator, action: string): string => {
  const key = AUDIT_ACTIONS.find((name) => name === action);
  return key === undefined ? inWords(action) : t(message(`ops.action.${key}`));
};

export const subjectName = ({ t }: Operator, type: string): string => {
  const key = AUDIT_SUBJECTS.find((name) => name === type);
  return key === undefined ? inWords(type) : t(message(`ops.subject.${key}`));
};
