import { MODEL } from '@fitness/contracts/model-names.ts';
import { postDeleted } from '@fitness/proto/events/content.ts';
import { type EventConsumer, onEvent } from '@fitness/shared/messaging/consumer.ts';
import type { UseCases } from '../use-cases.ts';

export const onPostDeleted = ({ deleteMediaOfTarget }: UseCases): EventConsumer =>
  onEvent(postDeleted, ({ data }) =>
    deleteMediaOfTarget({ attachable_type: MODEL.post, attachable_id: data.post_id }),
  );
