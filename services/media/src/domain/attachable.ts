/** What a file can be attached to, and which documents are private (specification 4.3, contract 6). */
import { MODEL } from '@fitness/shared/models.ts';

export type AttachableKind = 'post' | 'gym' | 'user' | 'training_service';

const KIND_BY_TYPE: Readonly<Record<string, AttachableKind>> = {
  [MODEL.post]: 'post',
  [MODEL.gym]: 'gym',
  // Another name that clients use for the gym.
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

export const ATTACHABLE_TYPES = Object.keys(KIND_BY_TYPE) as [string, ...string[]];

/** Undefined for a type that nothing can be attached to. */
export const attachableKind = (type: string): AttachableKind | undefined =>
  Object.hasOwn(KIND_BY_TYPE, type) ? KIND_BY_TYPE[type] : undefined;

/** Each purpose has the one kind of target that it belongs to. A purpose that is not here is served to nobody. */
export const PURPOSES = {
  trainer_license: { kind: 'user' },
  gym_license: { kind: 'gym' },
} as const satisfies Record<string, { kind: AttachableKind }>;

export type Purpose = keyof typeof PURPOSES;
export const PURPOSE_NAMES = Object.keys(PURPOSES) as [Purpose, ...Purpose[]];
export const isPurpose = (value: string): value is Purpose => Object.hasOwn(PURPOSES, value);
