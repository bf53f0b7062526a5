/** How a target is stored: `boostable_type` and `boostable_id`, both null for premium. */
import type { Target, TargetType } from '../domain/target.ts';

export interface TargetFields {
  boostable_type: TargetType | null;
  boostable_id: number | null;
}

export const fromTargetFields = ({ boostable_type: type, boostable_id: id }: TargetFields): Target | null =>
  type === null || id === null ? null : { type, id };

export const toTargetFields = (target: Target | null): TargetFields => ({
  boostable_type: target?.type ?? null,
  boostable_id: target?.id ?? null,
});
