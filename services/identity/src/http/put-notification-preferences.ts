import { MANDATORY_EMAILS } from '@fitness/contracts/notifications.ts';
import { defineRoute, ok, type Route } from '@fitness/shared/http/define-route.ts';
import { SESSION_ONLY } from '@fitness/shared/kernel/caller.ts';
import { LOCALES } from '@fitness/shared/kernel/i18n/translate.ts';
import { z } from 'zod';
import {
  preferencesChangeSchema,
  preferencesSchema,
  toPreferences,
} from '../app/notifications/notification-preferences.ts';
import type { UseCases } from '../use-cases.ts';

export const putNotificationPreferencesRoute = ({ updatePreferences }: UseCases): Route =>
  defineRoute({
    method: 'PUT',
    path: '/notifications/preferences',
    summary: 'Update your notification preferences',
    description:
      'Changes the preferences that you send and leaves the others as they are. These emails cannot be turned off (422): ' +
      `${MANDATORY_EMAILS.map((type) => `\`${type}\``).join(', ')}.`,
    tag: 'notifications',
    access: 'user',
    tokenKinds: SESSION_ONLY,
    body: z.object({
      locale: z.enum(LOCALES).nullish().meta({
        description: 'Language of your emails. Null: the language of your newest device.',
      }),
      types: preferencesChangeSchema.optional(),
    }),
    responses: { 200: z.object({ data: preferencesSchema }) },
    handle: async ({ caller, body }) =>
      ok({ data: toPreferences(await updatePreferences(caller.userId, body)) }),
  });
