import { gymLicenseReviewed } from '@fitness/proto/events/gyms.ts';
import { type EventConsumer, onEvent } from '@fitness/shared/messaging/consumer.ts';
import { REMOVED_LICENSE } from '../app/notifications/notification-resource.ts';
import type { UseCases } from '../use-cases.ts';

export const onGymLicenseReviewed = ({ deliverNotification }: UseCases): EventConsumer =>
  onEvent(gymLicenseReviewed, async ({ data: event, time }, { session }) => {
    const { owner_user_id: userId, gym_id, gym_name, approved, rejection_reason } = event;
    const review = approved === null ? REMOVED_LICENSE : { approved, reason: rejection_reason ?? '' };
    const data = { gym_id, gym_name, ...review };
    await deliverNotification(session, { userId, type: 'gym_license_reviewed', data, at: time });
  });
