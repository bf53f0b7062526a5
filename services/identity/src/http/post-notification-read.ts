import { defineRoute, ok, type Route } from '@fitness/shared/http/define-route.ts';
import { idParams } from '@fitness/shared/http/validation.ts';
import { z } from 'zod';
import { type Notifications, notificationSchema, toNotification } from '../app/notifications.ts';

export const postNotificationRead = (notifications: Notifications): Route =>
  defineRoute({
    method: 'POST',
    path: '/notifications/:id/read',
    summary: 'Mark an own notification as read',
    tag: 'notifications',
    access: 'user',
    params: idParams,
    responses: { 200: z.object({ data: notificationSchema }) },
    handle: async ({ caller, params, t }) => {
      const row = await notifications.markRead(caller.userId, params.id);
      return ok({ data: toNotification(row, t) });
    },
  });
