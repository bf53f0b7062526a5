import { defineRoute, ok, type Route } from '@fitness/shared/http/define-route.ts';
import { z } from 'zod';
import { preferencesSchema, toPreferences } from '../app/notifications/notification-preferences.ts';
import type { UseCases } from '../use-cases.ts';

export const getNotificationPreferencesRoute = ({
  getPreferences,
}: Pick<UseCases, 'getPreferences'>): Route =>
  defineRoute({
    method: 'GET',
    path: '/notifications/preferences',
    summary: 'What is told by push and e-mail',
    description:
      'For each type of notification. `locale` is the language of e-mails: null for that of the newest device. A push ' +
      'message has the language of its device. `GET /notifications` lists every notification, whatever is chosen here.',
    tag: 'notifications',
    access: 'user',
    responses: { 200: z.object({ data: preferencesSchema }) },
    handle: async ({ caller }) => ok({ data: toPreferences(await getPreferences(caller.userId)) }),
  });
