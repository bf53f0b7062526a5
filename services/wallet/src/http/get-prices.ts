import { defineRoute, ok, type Route } from '@fitness/shared/http/define-route.ts';
import { z } from 'zod';
import { pricesSchema } from '../app/list-prices.ts';
import type { UseCases } from '../use-cases.ts';

export const getPricesRoute = ({ listPrices }: Pick<UseCases, 'listPrices'>): Route =>
  defineRoute({
    method: 'GET',
    path: '/payments/prices',
    summary: 'Prices and rates',
    description: 'Prices in Tooman, rates in percent.',
    tag: 'Payments',
    access: 'guest',
    guestCache: true,
    responses: { 200: z.object({ data: pricesSchema }) },
    handle: async () => ok({ data: await listPrices() }),
  });
