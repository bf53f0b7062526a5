import { gymLicenseReviewed } from '@fitness/proto/events/gyms.ts';
import { type EventConsumer, onEvent } from '@fitness/shared/events/consumer.ts';
import type { Notifications } from '../app/notifications.ts';

export const onGymLicenseReviewed = (notifications: Notifications): EventConsumer =>
  onEvent(gymLicenseReviewed, async ({ data, time }, { session }) => {
    const { owner_user_id: userId, gym_id, gym_name, approved, rejection_reason } = data;
    const shown = { gym_id, gym_name, approved, reason: rejection_reason ?? '' };
    await notifications.deliver(session, { userId, type: 'gym_license_reviewed', data: shown, at: time });
  });
