import { created, defineRoute, type Route } from '@fitness/shared/http/define-route.ts';
import { SESSION_ONLY } from '@fitness/shared/kernel/caller.ts';
import { LOCALES } from '@fitness/shared/kernel/i18n/translate.ts';
import { z } from 'zod';
import { deviceSchema, toDevice } from '../app/notifications/devices.ts';
import { PLATFORMS } from '../domain/platforms.ts';
import type { UseCases } from '../use-cases.ts';

export const postNotificationDeviceRoute = ({ registerDevice }: UseCases): Route =>
  defineRoute({
    method: 'POST',
    path: '/notifications/devices',
    summary: 'Register a device',
    description:
      'Registers the device of your session for push messages. Call it at every start of the app, and whenever Firebase ' +
      'gives the app another registration token. A session has one device: a later call replaces its token and keeps its ' +
      'id. Nothing is pushed to the device once you have signed out, or the session has been revoked or has expired. A token ' +
      'that another account has registered is moved to yours.',
    tag: 'notifications',
    access: 'user',
    tokenKinds: SESSION_ONLY,
    body: z.object({
      token: z
        .string()
        .regex(/^[\x21-\x7e]{1,4096}$/)
        .meta({ description: 'Firebase registration token of the device' }),
      platform: z.enum(PLATFORMS).meta({ description: 'Operating system of the device' }),
      locale: z.enum(LOCALES).meta({ description: 'Language of the push messages to this device' }),
    }),
    responses: { 201: z.object({ data: deviceSchema }) },
    handle: async ({ caller, body: { token, platform, locale } }) =>
      created({ data: toDevice(await registerDevice(caller, { push_token: token, platform, locale })) }),
  });
