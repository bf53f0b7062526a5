/** The state of the outbox and the queues of a service. */
import { type OperationsStatus, operationsStatusSchema } from '@fitness/shared/kernel/operations.ts';
import type { Operator } from './section.ts';

/** Undefined if the service does not answer. */
export const readStatus = async (
  operator: Operator,
  service: string,
): Promise<OperationsStatus | undefined> => {
  try {
    const { status, body } = await operator.internal(service, { method: 'GET', path: '/operations' });
    return status === 200 ? operationsStatusSchema.parse(body) : undefined;
  } catch {
    return undefined;
  }
};
