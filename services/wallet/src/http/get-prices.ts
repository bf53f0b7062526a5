import { defineRoute, ok, type Route } from '@fitness/shared/http/define-route.ts';
import { z } from 'zod';
import type { ListPrices } from '../app/list-prices.ts';

const pricesSchema = z
  .object({
    premium: z.object({ plus: z.int() }),
    boosts: z.object({ basic: z.int(), pro: z.int() }),
    gateway_fee_percent: z.number(),
    commission_percent: z.number(),
    vat_percent: z.number(),
  })
  .meta({ id: 'Prices' });

export const getPricesRoute = (listPrices: ListPrices): Route =>
  defineRoute({
    method: 'GET',
    path: '/payments/prices',
    summary: 'Prices and rates',
    description: 'Prices in Tooman, rates in percent.',
    tag: 'Payments',
    access: 'guest',
    responses: { 200: z.object({ data: pricesSchema }) },
    handle: async () => ok({ data: await listPrices() }),
  });
