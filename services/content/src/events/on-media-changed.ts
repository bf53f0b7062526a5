import { mediaAttached, mediaDeleted } from '@fitness/proto/events/media.ts';
import { type EventConsumer, onEvent } from '@fitness/shared/messaging/consumer.ts';
import type { UseCases } from '../use-cases.ts';

/** These events only have an effect if the `MediaCopies.Save` call of the upload or deletion was lost. */
export const onMediaChanged = ({ refreshMedia }: UseCases): EventConsumer[] =>
  [mediaAttached, mediaDeleted].map((event) =>
    onEvent(event, ({ data }, { session }) =>
      refreshMedia(session, data.attachable_type, data.attachable_id),
    ),
  );
