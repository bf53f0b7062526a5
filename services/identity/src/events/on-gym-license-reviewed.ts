import { gymLicenseReviewed } from '@fitness/proto/events/gyms.ts';
import { type EventConsumer, onEvent } from '@fitness/shared/events/consumer.ts';
import type { NotifyParts } from './on-account-deletion-requested.ts';

export const onGymLicenseReviewed = ({ notifications, sequences }: NotifyParts): EventConsumer =>
  onEvent(gymLicenseReviewed, async ({ data, time }, { session }) => {
    await notifications.insert(session, {
      _id: await sequences.next('notifications'),
      user_id: data.owner_user_id,
      type: 'gym_license_reviewed',
      data: {
        gym_id: data.gym_id,
        gym_name: data.gym_name,
        approved: data.approved,
        reason: data.rejection_reason ?? '',
      },
      created_at: time,
      read_at: null,
    });
  });
