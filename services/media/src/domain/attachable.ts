/** What files can be attached to, and the purposes of private documents (specification 4.3). */
import { MODEL } from '@fitness/contracts/model-names.ts';

export type AttachableKind = 'post' | 'gym' | 'user' | 'training_service';

const KIND_BY_TYPE: Readonly<Record<string, AttachableKind>> = {
  [MODEL.post]: 'post',
  [MODEL.gym]: 'gym',
  // An alias that clients send.
  [MODEL.gymProfile]: 'gym',
  [MODEL.user]: 'user',
  [MODEL.trainingService]: 'training_service',
};

export const TYPE_BY_KIND: Readonly<Record<AttachableKind, string>> = {
  post: MODEL.post,
  gym: MODEL.gym,
  user: MODEL.user,
  training_service: MODEL.trainingService,
};

/** Maximum number of public files of a target. Private documents are not counted. */
export const MAX_PUBLIC_FILES: Readonly<Record<AttachableKind, number>> = {
  post: 10,
  gym: 20,
  user: 5,
  training_service: 10,
};

export const ATTACHABLE_TYPES = Object.keys(KIND_BY_TYPE) as [string, ...string[]];

/** The kind of a target type. Undefined for a type that files cannot be attached to. */
export const attachableKind = (type: string): AttachableKind | undefined =>
  Object.hasOwn(KIND_BY_TYPE, type) ? KIND_BY_TYPE[type] : undefined;

/** The purposes. Each belongs to one kind of target. A document with any other purpose is served to nobody. */
export const PURPOSES = {
  trainer_license: { kind: 'user' },
  gym_license: { kind: 'gym' },
} as const satisfies Record<string, { kind: AttachableKind }>;

export type Purpose = keyof typeof PURPOSES;
export const PURPOSE_NAMES = Object.keys(PURPOSES) as [Purpose, ...Purpose[]];
export const isPurpose = (value: string): value is Purpose => Object.hasOwn(PURPOSES, value);

/** False for a known purpose that belongs to another kind of target than this known type. Other checks find unknown values. */
export const isPurposeOf = (type: unknown, purpose: unknown): boolean => {
  const kind = attachableKind(String(type));
  const name = String(purpose);
  return kind === undefined || !isPurpose(name) || PURPOSES[name].kind === kind;
};
