import { defineRoute, ok, type Route } from '@fitness/shared/http/define-route.ts';
import { z } from 'zod';
import { type ListPrices, pricesSchema } from '../app/list-prices.ts';

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
