import { assertMaxItems } from '@fitness/shared/kernel/error.ts';

const IDS_MAX = 200;

/** The distinct ids of a gRPC request. 422 for more than 200. */
export const requestedIds = (ids: readonly number[]): number[] => {
  const unique = [...new Set(ids)];
  assertMaxItems('ids', unique, IDS_MAX);
  return unique;
};
