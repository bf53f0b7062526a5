/** The routes of every service, made without its dependencies. */
import type { z } from 'zod';
import { exists, SERVICES } from './support.ts';

export interface Route {
  method: string;
  path: string;
  body?: z.ZodType;
  permissions?: readonly string[];
  alsoNeeds?: readonly string[];
  audits?: readonly string[];
  access: string;
  guestCache?: boolean;
}

/** A placeholder for the dependencies of routes, which are not used while the routes are created. */
const anything: unknown = new Proxy(() => undefined, {
  get: (_target, name) => (name === Symbol.toPrimitive ? () => '' : anything),
  apply: () => anything,
});

const isRoute = (value: unknown): value is Route =>
  typeof value === 'object' && value !== null && 'method' in value && 'path' in value;

export const loadRouteTables = async (): Promise<Map<string, Route[]>> => {
  const tables = new Map<string, Route[]>();
  for (const service of SERVICES) {
    if (!exists(`services/${service}/src/http/routes.ts`)) continue;
    const module = (await import(`../../services/${service}/src/http/routes.ts`)) as Record<string, unknown>;
    const made = Object.values(module).map((value) =>
      typeof value === 'function' ? (value as (...parts: unknown[]) => unknown)(anything, anything) : value,
    );
    tables.set(service, made.flat().filter(isRoute));
  }
  return tables;
};
