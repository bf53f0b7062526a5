/** The target of a boost, and the slots: at most one grant runs in a slot at a time. */
import { MODEL } from '@fitness/contracts/model-names.ts';

export const TARGET_TYPES = ['gym', 'training_service'] as const;

export type TargetType = (typeof TARGET_TYPES)[number];

export interface Target {
  type: TargetType;
  id: number;
  /** Set if an operator boosts it for another user, with the id of the operator’s request. */
  byOperator?: { requestId: string | null };
}

export const isTargetType = (value: unknown): value is TargetType =>
  (TARGET_TYPES as readonly unknown[]).includes(value);

const MODEL_NAMES: Readonly<Record<TargetType, string>> = {
  gym: MODEL.gym,
  training_service: MODEL.trainingService,
};

/** The model name of the public resource, e.g. `App\Models\Gyms\Gym`. */
export const modelNameOf = (type: TargetType): string => MODEL_NAMES[type];

/** Type and id in one string, so one indexed field finds targets of both types. */
export const targetKey = ({ type, id }: Target): string => `${type}:${id}`;

export const premiumSlot = (userId: number): string => `premium:${userId}`;

export const boostSlot = (target: Target): string => `boost:${targetKey(target)}`;
