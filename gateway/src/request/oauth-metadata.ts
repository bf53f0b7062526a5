/** OAuth metadata for the authorization server (RFC 8414) and the protected resources (RFC 9728). */
import {
  MCP_PATH,
  OAUTH_PATHS,
  OAUTH_SCOPES,
  oauthResources,
  READING_SCOPES,
} from '@fitness/contracts/oauth.ts';
import { API_PREFIX } from '@fitness/shared/http/gateway-protocol.ts';
import { LOCALES } from '@fitness/shared/kernel/i18n/translate.ts';
import type { FastifyInstance } from 'fastify';

const RESOURCE_METADATA_PATH = '/.well-known/oauth-protected-resource';
const SERVER_METADATA_PATH = '/.well-known/oauth-authorization-server';

/** The URL of the metadata of the resource at `path`. */
export const resourceMetadataUrl = (baseUrl: string, path: string): string =>
  `${baseUrl}${RESOURCE_METADATA_PATH}${path}`;

const serverMetadata = (baseUrl: string): Record<string, unknown> => ({
  issuer: baseUrl,
  authorization_endpoint: `${baseUrl}${OAUTH_PATHS.authorize}`,
  token_endpoint: `${baseUrl}${OAUTH_PATHS.token}`,
  registration_endpoint: `${baseUrl}${OAUTH_PATHS.register}`,
  revocation_endpoint: `${baseUrl}${OAUTH_PATHS.revoke}`,
  scopes_supported: OAUTH_SCOPES,
  response_types_supported: ['code'],
  response_modes_supported: ['query'],
  grant_types_supported: ['authorization_code', 'refresh_token'],
  code_challenge_methods_supported: ['S256'],
  token_endpoint_auth_methods_supported: ['none'],
  revocation_endpoint_auth_methods_supported: ['none'],
  authorization_response_iss_parameter_supported: true,
  // RFC 9728, 4
  protected_resources: oauthResources(baseUrl),
  ui_locales_supported: LOCALES,
  service_documentation: `${baseUrl}/docs`,
});

const resourceMetadata = (baseUrl: string, path: string): Record<string, unknown> => ({
  resource: `${baseUrl}${path}`,
  authorization_servers: [baseUrl],
  // An MCP client requests the scopes of this list; the tools of `/mcp` only read.
  scopes_supported: path === MCP_PATH ? READING_SCOPES : OAUTH_SCOPES,
  bearer_methods_supported: ['header'],
  resource_documentation: `${baseUrl}/docs`,
});

export const addOauthMetadata = (app: FastifyInstance, baseUrl: string): void => {
  const add = (path: string, document: Record<string, unknown>): void => {
    app.get(path, async (_request, reply) =>
      reply.header('cache-control', 'public, max-age=300').send(document),
    );
  };
  add(SERVER_METADATA_PATH, serverMetadata(baseUrl));
  for (const path of ['', MCP_PATH, API_PREFIX]) {
    add(`${RESOURCE_METADATA_PATH}${path}`, resourceMetadata(baseUrl, path));
  }
};
