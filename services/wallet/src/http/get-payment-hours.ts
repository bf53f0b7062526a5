import { defineRoute, ok, type Route } from '@fitness/shared/http/define-route.ts';
import { z } from 'zod';
import { SHOWN_TYPES } from '../app/count-payment-hours.ts';
import type { UseCases } from '../use-cases.ts';

/** Feeds the chart on `/ops`. */
export const getPaymentHoursRoute = ({ countPaymentHours }: UseCases): Route =>
  defineRoute({
    method: 'GET',
    path: '/payments/hours',
    isInternal: true,
    summary: 'Count payments by hour',
    tag: 'Payments',
    access: 'user',
    permissions: ['payments.view_all'],
    pages: ['ops'],
    responses: {
      200: z.object({
        data: z.array(
          z.object({
            hour: z.iso.datetime().meta({ description: 'Start of the hour, ISO 8601 in UTC' }),
            type: z.enum(SHOWN_TYPES),
            is_done: z.boolean(),
            count: z.int(),
          }),
        ),
      }),
    },
    handle: async () => {
      const hours = await countPaymentHours();
      const data = hours.map(({ hour, type, isDone, count }) => ({
        hour: hour.toISOString(),
        type: type as (typeof SHOWN_TYPES)[number],
        is_done: isDone,
        count,
      }));
      return ok({ data });
    },
  });
