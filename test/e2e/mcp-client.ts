/** An MCP client with the official SDK; its user has a browser without scripts. */

import type { Credentials } from '@fitness/contracts/testing/oauth-client.ts';
import { createBrowser } from '@fitness/shared/testing/browser.ts';
import { type OAuthClientProvider, UnauthorizedError } from '@modelcontextprotocol/sdk/client/auth.js';
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import type { OAuthClientInformationMixed, OAuthTokens } from '@modelcontextprotocol/sdk/shared/auth.js';
import { baseUrl } from './support.ts';

const REDIRECT_URI = 'http://127.0.0.1:7777/callback';

/** The storage that the SDK requires. */
export class MemoryProvider implements OAuthClientProvider {
  readonly redirectUrl = REDIRECT_URI;
  readonly clientMetadata = { client_name: 'SDK client', redirect_uris: [REDIRECT_URI] };
  client: OAuthClientInformationMixed | undefined;
  kept: OAuthTokens | undefined;
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
    return this.kept;
  }
  saveTokens(tokens: OAuthTokens) {
    this.kept = tokens;
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
    if (what === 'all' || what === 'tokens') this.kept = undefined;
    if (what === 'all' || what === 'client') this.client = undefined;
  }
}

export const mcpUrl = (): URL => new URL(`${baseUrl()}/mcp`);

/** Signs in and consents; returns the authorization code. */
const consent = async (url: URL, { login, password }: Credentials): Promise<string> => {
  const browser = createBrowser(baseUrl());
  const page = await browser.follow(await browser.get(url.href));
  const asked = await browser.follow(await browser.submit(page, 'login', { login, password }));
  const back = await browser.follow(await browser.submit(asked, 'allow'));
  const code = back.location?.searchParams.get('code');
  if (code == null) throw new Error(`no code: ${back.status} ${back.html}`);
  return code;
};

const open = async (provider: OAuthClientProvider) => {
  const client = new Client({ name: 'end-to-end', version: '1' });
  const transport = new StreamableHTTPClientTransport(mcpUrl(), { authProvider: provider });
  const connect = () => client.connect(transport as Parameters<Client['connect']>[0]);
  return { client, transport, connect };
};

/** All steps from the address to a session: the 401, discovery, registration, consent, token. */
export const connectMcp = async (
  person: Credentials,
  provider = new MemoryProvider(),
): Promise<{ client: Client; provider: MemoryProvider }> => {
  const first = await open(provider);
  try {
    await first.connect();
    return { client: first.client, provider };
  } catch (error) {
    if (!(error instanceof UnauthorizedError)) throw error;
  }
  const url = provider.authorizationUrl;
  if (url === undefined) throw new Error('the SDK did not find out where to send its user');
  await first.transport.finishAuth(await consent(url, person));
  const second = await open(provider);
  await second.connect();
  return { client: second.client, provider };
};

export interface ToolResult {
  isError?: boolean;
  // biome-ignore lint/suspicious/noExplicitAny: an answer under test has whatever shape it has
  structuredContent?: any;
  content: { text: string }[];
}

export const callTool = async (
  client: Client,
  name: string,
  args: Record<string, unknown> = {},
): Promise<ToolResult> => (await client.callTool({ name, arguments: args })) as unknown as ToolResult;
