import { defineRoute, ok, type Route } from '@fitness/shared/http/define-route.ts';
import { idParams } from '@fitness/shared/http/validation.ts';
import { z } from 'zod';
import { notificationSchema, toNotification } from '../app/notifications/notification-resource.ts';
import type { UseCases } from '../use-cases.ts';

export const postNotificationReadRoute = ({ markNotificationRead }: UseCases): Route =>
  defineRoute({
    method: 'POST',
    path: '/notifications/:id/read',
    summary: 'Mark a notification as read',
    description:
      'Marks one of your notifications as read. Repeating the request changes nothing and returns the same response.',
    tag: 'notifications',
    access: 'user',
    params: idParams,
    responses: { 200: z.object({ data: notificationSchema }) },
    handle: async ({ caller, params, t }) => {
      const row = await markNotificationRead(caller.userId, params.id);
      return ok({ data: toNotification(row, t) });
    },
  });
