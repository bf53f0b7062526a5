import { defineRoute, ok, type Route } from '@fitness/shared/http/define-route.ts';
import { listBody, listOf, pageQuery, toPageRequest } from '@fitness/shared/http/pagination.ts';
import { z } from 'zod';
import { notificationSchema, toNotification } from '../app/notifications/notification-resource.ts';
import type { UseCases } from '../use-cases.ts';

const list = listOf(notificationSchema);
/** `unread_count` includes the notifications of all pages. */
const listSchema = list.extend({
  meta: list.shape.meta
    .extend({ unread_count: z.int().meta({ description: 'Number of unread notifications on all pages' }) })
    .meta({
      id: 'NotificationPageMeta',
      description: 'Where this page is in the list, and how many notifications are unread',
    }),
});

export const getNotificationsRoute = ({ listNotifications }: UseCases, baseUrl: string): Route =>
  defineRoute({
    method: 'GET',
    path: '/notifications',
    summary: 'List your notifications',
    description:
      'Returns your notifications, newest first. Their texts are in the language of the request ' +
      '(`Accept-Language`).',
    tag: 'notifications',
    access: 'user',
    query: z.object(pageQuery),
    responses: { 200: listSchema },
    handle: async ({ caller, query, url, t }) => {
      const request = toPageRequest(query, url);
      const { page, unread } = await listNotifications(caller.userId, request);
      const data = page.rows.map((row) => toNotification(row, t));
      const body = listBody({ baseUrl, url, request, page, data });
      return ok({ ...body, meta: { ...body.meta, unread_count: unread } });
    },
  });
