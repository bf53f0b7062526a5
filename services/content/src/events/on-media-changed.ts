import { mediaAttached, mediaDeleted } from '@fitness/proto/events/media.ts';
import { type EventConsumer, onEvent } from '@fitness/shared/messaging/consumer.ts';
import type { UseCases } from '../use-cases.ts';

/** Have an effect only when the call `MediaCopies.Save` of the upload or deletion was lost. */
export const onMediaChanged = ({ refreshMedia }: Pick<UseCases, 'refreshMedia'>): EventConsumer[] =>
  [mediaAttached, mediaDeleted].map((event) =>
    onEvent(event, ({ data }, { session }) =>
      refreshMedia(session, data.attachable_type, data.attachable_id),
    ),
  );
