/** What media listens to. */
import type { EventConsumer } from '@fitness/shared/events/consumer.ts';
import type { DeleteMedia } from '../app/delete-media.ts';
import type { ForgetAccount, ForgetTarget } from '../app/forget-target.ts';
import { onAccountDeleted } from './on-account-deleted.ts';
import { onGymDeleted } from './on-gym-deleted.ts';
import { onGymLicenseCleared } from './on-gym-license-cleared.ts';
import { onPostDeleted } from './on-post-deleted.ts';
import { onTrainingServiceDeleted } from './on-training-service-deleted.ts';

export interface ConsumerParts {
  deleteMedia: DeleteMedia;
  forgetTarget: ForgetTarget;
  forgetAccount: ForgetAccount;
}

export const createConsumers = ({
  deleteMedia,
  forgetTarget,
  forgetAccount,
}: ConsumerParts): EventConsumer[] => [
  onGymLicenseCleared(deleteMedia),
  onGymDeleted(forgetTarget),
  onPostDeleted(forgetTarget),
  onTrainingServiceDeleted(forgetTarget),
  onAccountDeleted(forgetAccount),
];
