import { defineRoute, ok, type Route } from '@fitness/shared/http/define-route.ts';
import { z } from 'zod';
import { pricesSchema } from '../app/list-prices.ts';
import type { UseCases } from '../use-cases.ts';

export const getPricesRoute = ({ listPrices }: UseCases): Route =>
  defineRoute({
    method: 'GET',
    path: '/payments/prices',
    summary: 'List prices and rates',
    description:
      'Returns the prices of premium subscriptions and boosts that are bought from the wallet, and the rates of fees, ' +
      'commissions and VAT.',
    tag: 'Payments',
    access: 'guest',
    pages: ['ops'],
    guestCache: true,
    responses: { 200: z.object({ data: pricesSchema }) },
    handle: async () => ok({ data: await listPrices() }),
  });
