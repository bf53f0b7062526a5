import { gymLicenseReviewed } from '@fitness/proto/events/gyms.ts';
import { type EventConsumer, onEvent } from '@fitness/shared/messaging/consumer.ts';
import type { UseCases } from '../use-cases.ts';

export const onGymLicenseReviewed = ({
  deliverNotification,
}: Pick<UseCases, 'deliverNotification'>): EventConsumer =>
  onEvent(gymLicenseReviewed, async ({ data: event, time }, { session }) => {
    const { owner_user_id: userId, gym_id, gym_name, approved, rejection_reason } = event;
    const data = { gym_id, gym_name, approved, reason: rejection_reason ?? '' };
    await deliverNotification(session, { userId, type: 'gym_license_reviewed', data, at: time });
  });
