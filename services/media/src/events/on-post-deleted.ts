import { postDeleted } from '@fitness/proto/events/content.ts';
import { type EventConsumer, onEvent } from '@fitness/shared/events/consumer.ts';
import { MODEL } from '@fitness/shared/models.ts';
import type { ForgetTarget } from '../app/forget-target.ts';

export const onPostDeleted = (forgetTarget: ForgetTarget): EventConsumer =>
  onEvent(postDeleted, ({ data }) =>
    forgetTarget({ attachable_type: MODEL.post, attachable_id: data.post_id }),
  );
