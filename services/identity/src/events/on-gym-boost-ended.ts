import { MODEL } from '@fitness/contracts/model-names.ts';
import { gymBoostEnded } from '@fitness/proto/events/gyms.ts';
import { type EventConsumer, onEvent } from '@fitness/shared/messaging/consumer.ts';
import type { UseCases } from '../use-cases.ts';

export const onGymBoostEnded = ({ deliverNotification }: UseCases): EventConsumer =>
  onEvent(gymBoostEnded, async ({ data: event, time }, { session }) => {
    const { owner_user_id: userId, boost_id, gym_id: boostable_id, gym_name: name, level, ended_at } = event;
    const data = { boost_id, boostable_type: MODEL.gym, boostable_id, name, level, ended_at };
    await deliverNotification(session, { userId, type: 'boost_ended', data, at: time });
  });
