/** An MCP client with the official SDK, whose user has a browser without scripts. */

import type { Credentials } from '@fitness/contracts/testing/oauth-client.ts';
import { type OAuthClientProvider, UnauthorizedError } from '@modelcontextprotocol/sdk/client/auth.js';
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import type { OAuthClientInformationMixed, OAuthTokens } from '@modelcontextprotocol/sdk/shared/auth.js';
import { consent } from './consent.ts';
import { baseUrl } from './support.ts';

const REDIRECT_URI = 'http://127.0.0.1:7777/callback';

/** The storage that the SDK requires. */
export class MemoryProvider implements OAuthClientProvider {
  readonly redirectUrl = REDIRECT_URI;
  readonly clientMetadata = { client_name: 'SDK client', redirect_uris: [REDIRECT_URI] };
  client: OAuthClientInformationMixed | undefined;
  savedTokens: OAuthTokens | undefined;
  verifier = '';
  /** The URL to open in the browser. */
  authorizationUrl: URL | undefined;

  clientInformation() {
    return this.client;
  }
  saveClientInformation(client: OAuthClientInformationMixed) {
    this.client = client;
  }
  tokens() {
    return this.savedTokens;
  }
  saveTokens(tokens: OAuthTokens) {
    this.savedTokens = tokens;
  }
  redirectToAuthorization(url: URL) {
    this.authorizationUrl = url;
  }
  saveCodeVerifier(verifier: string) {
    this.verifier = verifier;
  }
  codeVerifier() {
    return this.verifier;
  }
  invalidateCredentials(what: 'all' | 'client' | 'tokens' | 'verifier' | 'discovery') {
    if (what === 'all' || what === 'tokens') this.savedTokens = undefined;
    if (what === 'all' || what === 'client') this.client = undefined;
  }
}

/** Requests tokens that are valid for every path of the origin, not only for `/mcp`. */
export class OriginProvider extends MemoryProvider {
  async validateResourceURL(): Promise<URL> {
    return new URL(baseUrl());
  }
}

export const mcpUrl = (): URL => new URL(`${baseUrl()}/mcp`);

export const codeOf = async (authorizationUrl: URL, person: Credentials): Promise<string> =>
  (await consent(authorizationUrl, person)).searchParams.get('code') ?? '';

const open = async (provider: OAuthClientProvider) => {
  const client = new Client({ name: 'end-to-end', version: '1' });
  const transport = new StreamableHTTPClientTransport(mcpUrl(), { authProvider: provider });
  const connect = () => client.connect(transport as Parameters<Client['connect']>[0]);
  return { client, transport, connect };
};

interface Connected {
  client: Client;
  provider: MemoryProvider;
  transport: StreamableHTTPClientTransport;
}

/** Performs all steps from an address to a session: the 401, discovery, registration, consent, token. */
export const connectMcp = async (
  person: Credentials,
  provider = new MemoryProvider(),
): Promise<Connected> => {
  const first = await open(provider);
  try {
    await first.connect();
    return { client: first.client, transport: first.transport, provider };
  } catch (error) {
    if (!(error instanceof UnauthorizedError)) throw error;
  }
  const url = provider.authorizationUrl;
  if (url === undefined) throw new Error('the SDK did not find out where to send its user');
  await first.transport.finishAuth(await codeOf(url, person));
  const second = await open(provider);
  await second.connect();
  return { client: second.client, transport: second.transport, provider };
};

export interface ToolResult {
  isError?: boolean;
  // biome-ignore lint/suspicious/noExplicitAny: a response under test has whatever shape it has
  structuredContent?: any;
  content: { text: string }[];
}

export const callTool = async (
  client: Client,
  name: string,
  args: Record<string, unknown> = {},
): Promise<ToolResult> => (await client.callTool({ name, arguments: args })) as unknown as ToolResult;
