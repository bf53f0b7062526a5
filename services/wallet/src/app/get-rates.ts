import type { Dependencies } from '../dependencies.ts';

export const createGetRates =
  ({ rates }: Dependencies) =>
  (): Dependencies['rates'] =>
    rates;
