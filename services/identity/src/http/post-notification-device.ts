import { created, defineRoute, type Route } from '@fitness/shared/http/define-route.ts';
import { SESSION_ONLY } from '@fitness/shared/kernel/caller.ts';
import { LOCALES } from '@fitness/shared/kernel/i18n/translate.ts';
import { z } from 'zod';
import { deviceSchema, toDevice } from '../app/notifications/devices.ts';
import { PLATFORMS } from '../domain/platforms.ts';
import type { UseCases } from '../use-cases.ts';

export const postNotificationDeviceRoute = ({ registerDevice }: Pick<UseCases, 'registerDevice'>): Route =>
  defineRoute({
    method: 'POST',
    path: '/notifications/devices',
    summary: 'Register the device for push messages',
    description:
      'With the registration token of Firebase, at every start of the app and whenever the token changes. The device ' +
      'belongs to the session of the request: a later call replaces its token and keeps its id, and after a log-out, a ' +
      'revocation or the end of the session nothing is pushed to it. A token that another account has registered ' +
      'moves to this one.',
    tag: 'notifications',
    access: 'user',
    tokenKinds: SESSION_ONLY,
    body: z.object({
      token: z.string().regex(/^[\x21-\x7e]{1,4096}$/),
      platform: z.enum(PLATFORMS),
      locale: z.enum(LOCALES),
    }),
    responses: { 201: z.object({ data: deviceSchema }) },
    handle: async ({ caller, body: { token, platform, locale } }) =>
      created({ data: toDevice(await registerDevice(caller, { push_token: token, platform, locale })) }),
  });
