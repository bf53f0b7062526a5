import { defineRoute, ok, type Route } from '@fitness/shared/http/define-route.ts';
import { idParams } from '@fitness/shared/http/validation.ts';
import { z } from 'zod';
import { trainingServiceSchema } from '../app/resources.ts';
import type { UseCases } from '../app/use-cases.ts';
import { descriptionField, durationDaysField, priceField, titleField } from './fields.ts';

export const putTrainingService = ({ updateTrainingService }: UseCases): Route =>
  defineRoute({
    method: 'PUT',
    path: '/training-services/:id',
    summary: 'Change an own training service; only what is given changes',
    tag: 'training services',
    access: 'user',
    permissions: ['training_services.create', 'training_services.update_any'],
    params: idParams,
    body: z.object({
      title: titleField.optional(),
      description: descriptionField.optional(),
      price: priceField.optional(),
      duration_days: durationDaysField.optional(),
      is_active: z.boolean().optional(),
    }),
    responses: { 200: z.object({ data: trainingServiceSchema }) },
    handle: async ({ caller, params, body }) => {
      const { title, description, price, duration_days, is_active } = body;
      const change = { title, description, price, durationDays: duration_days, isActive: is_active };
      return ok({ data: await updateTrainingService(caller, params.id, change) });
    },
  });
