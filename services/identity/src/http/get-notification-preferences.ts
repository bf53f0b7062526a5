import { defineRoute, ok, type Route } from '@fitness/shared/http/define-route.ts';
import { z } from 'zod';
import { preferencesSchema, toPreferences } from '../app/notifications/notification-preferences.ts';
import type { UseCases } from '../use-cases.ts';

export const getNotificationPreferencesRoute = ({ getPreferences }: UseCases): Route =>
  defineRoute({
    method: 'GET',
    path: '/notifications/preferences',
    summary: 'Retrieve your notification preferences',
    description:
      'Returns, for each type of notification, whether it is sent to you by push message and by email. `GET /notifications` ' +
      'lists every notification, whatever the preferences are.',
    tag: 'notifications',
    access: 'user',
    responses: { 200: z.object({ data: preferencesSchema }) },
    handle: async ({ caller }) => ok({ data: toPreferences(await getPreferences(caller.userId)) }),
  });
