import type { EventConsumer } from '@fitness/shared/messaging/consumer.ts';
import type { UseCases } from '../use-cases.ts';
import { onAccountDeleted } from './on-account-deleted.ts';
import { onMediaAttached } from './on-media-attached.ts';
import { onMediaDeleted } from './on-media-deleted.ts';

export const createConsumers = (
  useCases: Pick<UseCases, 'attachLicense' | 'detachLicense' | 'eraseAccount'>,
): EventConsumer[] => [onMediaAttached(useCases), onMediaDeleted(useCases), onAccountDeleted(useCases)];
