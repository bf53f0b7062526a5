import type { Dependencies } from '../dependencies.ts';

export const createGetRates =
  ({ rates }: Pick<Dependencies, 'rates'>) =>
  (): Dependencies['rates'] =>
    rates;
