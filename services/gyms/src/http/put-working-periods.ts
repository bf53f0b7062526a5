import { defineRoute, ok, type Route } from '@fitness/shared/http/define-route.ts';
import { idParams, says } from '@fitness/shared/http/validation.ts';
import { z } from 'zod';
import { gymBody, toGymBody } from './answer.ts';
import { type HttpParts, TAG } from './parts.ts';

const PERIODS_MAX = 50;

const time = (pattern: RegExp) => z.string().refine((value) => pattern.test(value), says('validation.time'));

const period = z.object({
  weekday: z.int().min(0).max(6).meta({ description: '0 is Saturday, 6 is Friday.' }),
  opens_at: time(/^([01]\d|2[0-3]):[0-5]\d$/),
  closes_at: time(/^(([01]\d|2[0-3]):[0-5]\d|24:00)$/),
});

export const putWorkingPeriods = ({ setWorkingPeriods, presentGyms }: HttpParts): Route =>
  defineRoute({
    method: 'PUT',
    path: '/gyms/:id/working-periods',
    summary: 'Say when a gym is open',
    description:
      'Replaces the whole week, on the clock of Tehran. A period that closes before it opens, or as it opens, runs ' +
      'over midnight. Periods may touch but not overlap.',
    tag: TAG,
    access: 'user',
    permissions: ['gyms.update', 'gyms.update_any'],
    params: idParams,
    body: z.object({ working_periods: z.array(period).max(PERIODS_MAX) }),
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
