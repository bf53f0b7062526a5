/** The routes of every service, created without their dependencies. */
import type { z } from 'zod';
import { createCatalogue } from '../../services/store-billing/src/domain/offer.ts';
import { exists, SERVICES } from './support.ts';

export interface Route {
  method: string;
  path: string;
  body?: z.ZodType;
  rawBody?: boolean;
  bodyLimitBytes?: number;
  responses?: Readonly<Record<string, z.ZodType | null>>;
  permissions?: readonly string[];
  alsoNeeds?: readonly string[];
  fieldPermissions?: Readonly<Record<string, string>>;
  audits?: readonly string[];
  access: string;
  idempotent?: boolean;
  errorCodes?: Readonly<Record<number, readonly string[]>>;
  guestCache?: boolean;
  pages?: readonly string[];
  pageFields?: readonly string[];
  isInternal?: true;
}

/** A placeholder for dependencies of routes, which are not used while the routes are created. */
export const anything: unknown = new Proxy(() => undefined, {
  get: (_target, name) => (name === Symbol.toPrimitive ? () => '' : anything),
  apply: () => anything,
});

/** Options that routes read while they are created. The API document must not depend on them. */
const OPTIONS: Readonly<Record<string, unknown>> = {
  'store-billing': {
    catalogue: createCatalogue({
      premiumPlusRial: 990_000,
      boostBasicRial: 490_000,
      boostProRial: 890_000,
      boostBasicDays: 7,
      boostProDays: 7,
    }),
    channel: 'cafebazaar',
    idempotency: anything,
    baseUrl: '',
  },
};

const isRoute = (value: unknown): value is Route =>
  typeof value === 'object' && value !== null && 'method' in value && 'path' in value;

export const loadRouteTables = async (): Promise<Map<string, Route[]>> => {
  const tables = new Map<string, Route[]>();
  for (const service of SERVICES) {
    if (!exists(`services/${service}/src/http/routes.ts`)) continue;
    const module = (await import(`../../services/${service}/src/http/routes.ts`)) as Record<string, unknown>;
    const created = Object.values(module).map((value) =>
      typeof value === 'function'
        ? (value as (...parts: unknown[]) => unknown)(anything, OPTIONS[service] ?? anything)
        : value,
    );
    tables.set(service, created.flat().filter(isRoute));
  }
  return tables;
};
