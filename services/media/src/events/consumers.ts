/** What media listens to. */
import type { EventConsumer } from '@fitness/shared/events/consumer.ts';
import type { DeleteMedia } from '../app/delete-media.ts';
import { onGymLicenseCleared } from './on-gym-license-cleared.ts';

export const createConsumers = (deleteMedia: DeleteMedia): EventConsumer[] => [
  onGymLicenseCleared(deleteMedia),
];
