/** The grant resource: what an app may do on behalf of the user. */
import { findOauthResource } from '@fitness/contracts/oauth.ts';
import { timestampSchema } from '@fitness/contracts/timestamp.ts';
import { formatTimestamp, SECOND_MS } from '@fitness/shared/kernel/clock.ts';
import { z } from 'zod';
import type { OauthRecord } from '../../store/oauth.ts';

/** The part of the stored payload that the resource needs. */
export interface GrantPayload {
  clientId: string;
  /** Scopes by resource indicator. */
  resources?: Record<string, string>;
  iat?: number;
}

export const appGrantSchema = z
  .object({
    id: z.int(),
    client_name: z
      .string()
      .nullable()
      .meta({ description: 'Name that the app has chosen for itself. It is not verified.' }),
    scopes: z.array(z.string()).meta({ description: 'Scopes that you have granted to the app' }),
    resource: z
      .string()
      .meta({ description: 'What the tokens of the app are for. The origin covers the API and `/mcp`.' }),
    created_at: timestampSchema,
    last_used_at: timestampSchema.meta({
      description: 'When a token of the app was last used; up to a minute late',
    }),
  })
  .meta({ id: 'AppGrant' });

type AppGrant = z.output<typeof appGrantSchema>;

const nameIn = (registration: string | undefined): string | null => {
  if (registration === undefined) return null;
  return (JSON.parse(registration) as { client_name?: string }).client_name ?? null;
};

/** A token is for one resource. For a grant with several, this is the origin, which covers them. */
const resourceOf = (indicators: readonly string[], baseUrl: string): string => {
  const named = new Set(indicators.map((indicator) => findOauthResource(baseUrl, indicator) ?? indicator));
  const [first, ...others] = named;
  return first === undefined || others.length > 0 ? baseUrl : first;
};

/** `clients`: registrations by id. */
export const toAppGrant = (
  row: OauthRecord,
  clients: ReadonlyMap<string, string>,
  baseUrl: string,
): AppGrant => {
  const { clientId, resources = {}, iat = 0 } = JSON.parse(row.payload) as GrantPayload;
  const createdAt = new Date(iat * SECOND_MS);
  return {
    id: row.grant_number ?? 0,
    client_name: nameIn(clients.get(clientId)),
    scopes: [...new Set(Object.values(resources).flatMap((scopes) => scopes.split(' ')))],
    resource: resourceOf(Object.keys(resources), baseUrl),
    created_at: formatTimestamp(createdAt),
    last_used_at: formatTimestamp(row.last_used_at ?? createdAt),
  };
};
