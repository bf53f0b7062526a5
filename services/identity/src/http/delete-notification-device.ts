import { defineRoute, noContent, type Route } from '@fitness/shared/http/define-route.ts';
import { idParams } from '@fitness/shared/http/validation.ts';
import { SESSION_ONLY } from '@fitness/shared/kernel/caller.ts';
import type { UseCases } from '../use-cases.ts';

export const deleteNotificationDeviceRoute = ({ removeDevice }: UseCases): Route =>
  defineRoute({
    method: 'DELETE',
    path: '/notifications/devices/:id',
    summary: 'Unregister a device',
    description:
      'Stops push messages to one of your devices. To receive them again, register the device with ' +
      '`POST /notifications/devices`.',
    tag: 'notifications',
    access: 'user',
    tokenKinds: SESSION_ONLY,
    params: idParams,
    responses: { 204: null },
    handle: async ({ caller, params }) => {
      await removeDevice(caller.userId, params.id);
      return noContent();
    },
  });
