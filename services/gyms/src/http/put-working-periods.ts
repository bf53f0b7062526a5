import { defineRoute, ok, type Route } from '@fitness/shared/http/define-route.ts';
import { idParams } from '@fitness/shared/http/validation.ts';
import { withMessage } from '@fitness/shared/kernel/refinements.ts';
import { z } from 'zod';
import type { UseCases } from '../use-cases.ts';
import { gymBody, toGymBody } from './gym-body.ts';

const PERIODS_MAX = 50;

const time = (pattern: RegExp, description: string) =>
  z
    .string()
    .refine((value) => pattern.test(value), withMessage('validation.time'))
    .meta({ pattern: pattern.source, description });

const period = z.object({
  weekday: z.int().min(0).max(6).meta({ description: 'Day of the week: 0 is Saturday, 6 is Friday' }),
  opens_at: time(/^([01]\d|2[0-3]):[0-5]\d$/, 'Opening time, `HH:MM`'),
  closes_at: time(/^(([01]\d|2[0-3]):[0-5]\d|24:00)$/, 'Closing time, `HH:MM` up to `24:00`'),
});

export const putWorkingPeriodsRoute = ({ setWorkingPeriods, presentGyms }: UseCases): Route =>
  defineRoute({
    method: 'PUT',
    path: '/gyms/:id/working-periods',
    summary: 'Set a gym’s working periods',
    description:
      'Replaces the working periods of the whole week, in the local time of Tehran. A period whose closing time is not ' +
      'after its opening time ends on the next day. Periods may touch, but must not overlap (422 under ' +
      '`working_periods`). Requires `gyms.update` for your own gym, or `gyms.update_any` for any gym.',
    tag: 'Gyms',
    access: 'user',
    permissions: ['gyms.update', 'gyms.update_any'],
    audits: ['gym.update'],
    params: idParams,
    body: z.object({
      working_periods: z
        .array(period)
        .max(PERIODS_MAX)
        .meta({ description: 'Every working period of the week; they replace the current ones' }),
    }),
    responses: { 200: gymBody },
    handle: async ({ params, body, caller, locale }) => {
      const periods = body.working_periods.map(({ weekday, opens_at, closes_at }) => ({
        weekday,
        opensAt: opens_at,
        closesAt: closes_at,
      }));
      const gym = await setWorkingPeriods(params.id, periods, caller);
      return ok(await toGymBody(presentGyms, gym, { caller, locale }));
    },
  });
