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

export const putNotificationPreferencesRoute = ({
  updatePreferences,
}: Pick<UseCases, 'updatePreferences'>): Route =>
  defineRoute({
    method: 'PUT',
    path: '/notifications/preferences',
    summary: 'Update your notification preferences',
    description:
      'Changes the preferences that you send and leaves the others as they are. The emails of `security_alert`, ' +
      '`account_deletion_requested` and `account_deletion_postponed` cannot be turned off (422).',
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
