import { mediaAttached } from '@fitness/proto/events/media.ts';
import { type EventConsumer, onEvent } from '@fitness/shared/messaging/consumer.ts';
import type { UseCases } from '../use-cases.ts';
import { isTrainerLicense } from './is-trainer-license.ts';

/** Repeats the call `AttachLicense`, which the upload may not have completed. No effect for an older document. */
export const onMediaAttached = ({ attachLicense }: Pick<UseCases, 'attachLicense'>): EventConsumer =>
  onEvent(mediaAttached, async ({ data }, { session }) => {
    if (!isTrainerLicense(data)) return;
    const document = { userId: data.attachable_id, mediaId: data.media_id, filename: data.filename };
    await attachLicense(document, session);
  });
