import type { Route } from '@fitness/shared/http/define-route.ts';
import { findErrorBodies, findErrorCodes } from '../error-codes.ts';
import { loadRouteTables } from '../route-tables.ts';

/** Every error code that the sources throw. */
export const generate = async (): Promise<Record<string, string>> => {
  const all = [...(await loadRouteTables()).values()].flat() as unknown as Route[];
  const routes = all.filter(({ isInternal }) => isInternal !== true);
  const errors = { codes: findErrorCodes(routes), bodies: findErrorBodies(routes) };
  return { 'gateway/src/api/error-codes.json': `${JSON.stringify(errors, null, 2)}\n` };
};
