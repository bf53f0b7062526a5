import type { Clock } from '@fitness/shared/clock.ts';
import { notFound } from '@fitness/shared/error.ts';
import { defineRoute, ok, type Route } from '@fitness/shared/http/define-route.ts';
import { idParams } from '@fitness/shared/http/validation.ts';
import { z } from 'zod';
import { notificationSchema, toNotification } from '../app/notifications.ts';
import type { NotificationStore } from '../store/notifications.ts';

export const postNotificationRead = (notifications: NotificationStore, clock: Clock): Route =>
  defineRoute({
    method: 'POST',
    path: '/notifications/:id/read',
    summary: 'Mark an own notification as read',
    tag: 'notifications',
    access: 'user',
    params: idParams,
    responses: { 200: z.object({ data: notificationSchema }) },
    handle: async ({ caller, params, t }) => {
      const row = await notifications.markRead(caller.userId, params.id, clock.now());
      if (row === null) throw notFound();
      return ok({ data: toNotification(row, t) });
    },
  });
