import { created, defineRoute, type Route } from '@fitness/shared/http/define-route.ts';
import { z } from 'zod';
import { trainingServiceSchema } from '../app/resources.ts';
import type { UseCases } from '../app/use-cases.ts';
import { descriptionField, durationDaysField, priceField, titleField } from './fields.ts';

export const postTrainingServices = ({ createTrainingService }: UseCases): Route =>
  defineRoute({
    method: 'POST',
    path: '/training-services',
    summary: 'Offer a training service; `price` in Tooman',
    tag: 'training services',
    access: 'user',
    permissions: ['training_services.create'],
    body: z.object({
      title: titleField,
      description: descriptionField,
      price: priceField,
      duration_days: durationDaysField,
      is_active: z.boolean().default(true),
    }),
    responses: { 201: z.object({ data: trainingServiceSchema }) },
    handle: async ({ caller, body }) => {
      const { title, description, price, duration_days, is_active } = body;
      const content = { title, description, price, durationDays: duration_days, isActive: is_active };
      return created({ data: await createTrainingService(caller, content) });
    },
  });
