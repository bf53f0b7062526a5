import type { EventConsumer } from '@fitness/shared/events/consumer.ts';
import type { ForgetAccount } from '../app/forget-account.ts';
import type { AttachLicense, ForgetLicense } from '../app/license-document.ts';
import { onAccountDeleted } from './on-account-deleted.ts';
import { onMediaAttached } from './on-media-attached.ts';
import { onMediaDeleted } from './on-media-deleted.ts';

export interface ConsumerParts {
  attachLicense: AttachLicense;
  forgetLicense: ForgetLicense;
  forgetAccount: ForgetAccount;
}

export const gymConsumers = ({
  attachLicense,
  forgetLicense,
  forgetAccount,
}: ConsumerParts): EventConsumer[] => [
  onMediaAttached(attachLicense),
  onMediaDeleted(forgetLicense),
  onAccountDeleted(forgetAccount),
];
