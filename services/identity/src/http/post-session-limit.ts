import { defineRoute, noContent, type Route } from '@fitness/shared/http/define-route.ts';
import { SESSION_ONLY, SESSION_PAGES } from '@fitness/shared/kernel/caller.ts';
import { z } from 'zod';
import type { UseCases } from '../use-cases.ts';

/** Called by the gateway each time it shows a page, because the sessions of pages are shorter than those of apps. */
export const postSessionLimitRoute = ({ limitSession }: UseCases): Route =>
  defineRoute({
    method: 'POST',
    path: '/session-limit',
    isInternal: true,
    summary: 'Limit the session of a page',
    tag: 'auth',
    access: 'user',
    tokenKinds: SESSION_ONLY,
    pages: SESSION_PAGES,
    body: z.object({
      seconds: z.int().min(1),
      idle_seconds: z.int().min(1).optional(),
      // Older gateways send no page.
      page: z.enum(SESSION_PAGES).optional(),
    }),
    responses: { 204: null },
    handle: async ({ caller, body: { seconds, idle_seconds: idleSeconds = seconds, page } }) => {
      await limitSession(caller, { seconds, idleSeconds, page });
      return noContent();
    },
  });
