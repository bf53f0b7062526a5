/** The state of the outbox and the queues of a service. */
import { type OperationsStatus, operationsStatusSchema } from '@fitness/shared/kernel/operations.ts';
import { internalCall } from './call.ts';
import type { Operator } from './operator.ts';

export const operationsStatus = internalCall('GET /operations', ['operations.manage']);

/** Undefined if the service does not answer. */
export const readStatus = async (
  operator: Operator,
  service: string,
): Promise<OperationsStatus | undefined> =>
  operationsStatusSchema.safeParse(await operationsStatus.find(operator, service)).data;
