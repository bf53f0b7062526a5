import { defineRoute, ok, type Route } from '@fitness/shared/http/define-route.ts';
import { listBody, listOf, pageQuery, toPageRequest } from '@fitness/shared/http/pagination.ts';
import { z } from 'zod';
import { type Notifications, notificationSchema, toNotification } from '../app/notifications.ts';

const list = listOf(notificationSchema);
/** How many of all, not only of the page, are unread stands with the other numbers of the list. */
const listSchema = list.extend({ meta: list.shape.meta.extend({ unread_count: z.int() }) });

export const getNotifications = (notifications: Notifications, baseUrl: string): Route =>
  defineRoute({
    method: 'GET',
    path: '/notifications',
    summary: 'The own notifications, newest first',
    tag: 'notifications',
    access: 'user',
    query: z.object(pageQuery),
    responses: { 200: listSchema },
    handle: async ({ caller, query, url, t }) => {
      const request = toPageRequest(query);
      const { page, unread } = await notifications.list(caller.userId, request);
      const data = page.rows.map((row) => toNotification(row, t));
      const body = listBody({ baseUrl, url, request, page, data });
      return ok({ ...body, meta: { ...body.meta, unread_count: unread } });
    },
  });
