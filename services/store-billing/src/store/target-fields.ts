/** How a target is stored: `boostable_type` and `boostable_id`, both null for premium. */
import type { Target, TargetType } from '../domain/target.ts';

export interface TargetFields {
  boostable_type: TargetType | null;
  boostable_id: number | null;
  /** Only set for an operator's boost for another user. */
  boosted_by_operator?: boolean | undefined;
  /** Id of the operator's request. Older releases stored none. */
  boost_request_id?: string | null | undefined;
}

export const fromTargetFields = ({
  boostable_type: type,
  boostable_id: id,
  boosted_by_operator: byOperator,
  boost_request_id: requestId,
}: TargetFields): Target | null => {
  if (type === null || id === null) return null;
  return byOperator === true ? { type, id, byOperator: { requestId: requestId ?? null } } : { type, id };
};

export const toTargetFields = (target: Target | null): TargetFields => ({
  boostable_type: target?.type ?? null,
  boostable_id: target?.id ?? null,
  ...(target?.byOperator === undefined
    ? {}
    : { boosted_by_operator: true, boost_request_id: target.byOperator.requestId }),
});
