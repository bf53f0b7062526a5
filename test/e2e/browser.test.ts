/** Apps in a real browser: a page of another origin, and an app with a private URI scheme. */
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { createOauthClient, createPkce } from '@fitness/contracts/testing/oauth-client.ts';
import { launchChromium } from '@fitness/shared/testing/chromium.ts';
import { type PageServer, startPageServer } from '@fitness/shared/testing/web-page.ts';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import type { Browser, Page } from 'playwright-core';
import { type Account, baseUrl, eventually, PASSWORD, register } from './support.ts';

const LIBRARY = '/oauth4webapi.js';

let browser: Browser;
let app: PageServer;
beforeAll(async () => {
  const library = readFileSync(createRequire(import.meta.url).resolve('oauth4webapi'), 'utf8');
  [browser, app] = await Promise.all([launchChromium(), startPageServer({ [LIBRARY]: library })]);
});
afterAll(() => Promise.all([browser.close(), app.close()]));

const signIn = async (page: Page, { username }: Account): Promise<void> => {
  await page.fill('input[name=login]', username);
  await page.fill('input[name=password]', PASSWORD);
  await page.click('button[value=login]');
  await page.waitForSelector('button[value=allow]');
};

test('a page of another origin registers itself, signs its user in, and uses the API and /mcp', async () => {
  const account = await register();
  const page = await browser.newPage();
  await page.goto(app.origin);
  const started = await page.evaluate(
    async ([path, issuer, redirectUri]) => {
      const oauth: typeof import('oauth4webapi') = await import(path);
      const options = { [oauth.allowInsecureRequests]: true };
      const discovered = await oauth.discoveryRequest(new URL(issuer), { algorithm: 'oauth2', ...options });
      const server = await oauth.processDiscoveryResponse(new URL(issuer), discovered);
      const metadata = { redirect_uris: [redirectUri], token_endpoint_auth_method: 'none' };
      const client = await oauth.processDynamicClientRegistrationResponse(
        await oauth.dynamicClientRegistrationRequest(server, metadata, options),
      );
      const verifier = oauth.generateRandomCodeVerifier();
      const url = new URL(server.authorization_endpoint ?? '');
      url.search = new URLSearchParams({
        client_id: client.client_id,
        redirect_uri: redirectUri,
        response_type: 'code',
        scope: 'posts.view',
        state: 'kept',
        code_challenge: await oauth.calculatePKCECodeChallenge(verifier),
        code_challenge_method: 'S256',
      }).toString();
      return { url: url.href, verifier, clientId: client.client_id };
    },
    [LIBRARY, baseUrl(), `${app.origin}/connected`] as const,
  );

  await page.goto(started.url);
  await signIn(page, account);
  await page.click('button[value=allow]');
  await page.waitForURL(`${app.origin}/connected?*`);

  const seen = await page.evaluate(
    async ([path, issuer, redirectUri, clientId, verifier, back]) => {
      const oauth: typeof import('oauth4webapi') = await import(path);
      const options = { [oauth.allowInsecureRequests]: true };
      const discovered = await oauth.discoveryRequest(new URL(issuer), { algorithm: 'oauth2', ...options });
      const server = await oauth.processDiscoveryResponse(new URL(issuer), discovered);
      const client = { client_id: clientId };
      const none = oauth.None();
      const params = oauth.validateAuthResponse(server, client, new URL(back), 'kept');
      const tokens = await oauth.processAuthorizationCodeResponse(
        server,
        client,
        await oauth.authorizationCodeGrantRequest(
          server,
          client,
          none,
          params,
          redirectUri,
          verifier,
          options,
        ),
      );
      const refreshed = await oauth.processRefreshTokenResponse(
        server,
        client,
        await oauth.refreshTokenGrantRequest(server, client, none, tokens.refresh_token ?? '', options),
      );
      const authorization = `Bearer ${refreshed.access_token}`;
      const ask = async (address: string, init: RequestInit = {}) => {
        const headers = { ...(init.headers as Record<string, string> | undefined), authorization };
        const response = await fetch(`${issuer}${address}`, { ...init, headers });
        return {
          status: response.status,
          challenge: response.headers.get('www-authenticate'),
          requestId: response.headers.get('x-request-id'),
          body: (await response.json()) as { result?: { tools: { name: string }[] } },
        };
      };
      const profile = await ask('/api/v1/auth/me');
      const refused = await ask('/api/v1/payments/balance');
      const tools = await ask('/mcp', {
        method: 'POST',
        headers: {
          accept: 'application/json, text/event-stream',
          'content-type': 'application/json',
          'mcp-protocol-version': '2025-06-18',
        },
        body: JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/list' }),
      });
      await oauth.processRevocationResponse(
        await oauth.revocationRequest(server, client, none, refreshed.refresh_token ?? '', options),
      );
      const after = await ask('/api/v1/auth/me');
      return { profile, refused, tools, after };
    },
    [LIBRARY, baseUrl(), `${app.origin}/connected`, started.clientId, started.verifier, page.url()] as const,
  );
  expect(seen.profile).toMatchObject({
    status: 200,
    requestId: expect.any(String),
    body: { user: { id: account.id } },
  });
  expect(seen.refused).toMatchObject({
    status: 403,
    challenge: 'Bearer error="insufficient_scope", scope="payments.view_own"',
  });
  expect(seen.tools.status).toBe(200);
  expect(seen.tools.body.result?.tools.map(({ name }) => name)).toContain('get_profile');
  expect(seen.after).toMatchObject({ status: 401, challenge: expect.stringContaining('Bearer') });
  await page.close();
});

test('the consent page may send its user back to a private-use scheme', async () => {
  const account = await register();
  const oauth = createOauthClient(baseUrl());
  const redirect_uri = 'com.example.app:/connected';
  const client_id = await oauth.newClient({ redirect_uris: [redirect_uri] });
  const page = await browser.newPage();
  const problems: string[] = [];
  page.on('console', (message) => message.type() === 'error' && problems.push(message.text()));
  const targets: string[] = [];
  page.on('response', async (response) => {
    const { location } = response.headers();
    if (location !== undefined) targets.push(location);
  });
  const params = { client_id, redirect_uri, code_challenge: createPkce().challenge };
  await page.goto(`${baseUrl()}${oauth.authorizeUrl(params)}`);
  await signIn(page, account);
  expect(await page.textContent('main')).toContain('com.example.app:');
  await page.click('button[value=allow]', { noWaitAfter: true });
  await eventually(() => targets.some((target) => target.startsWith(`${redirect_uri}?code=`)));
  // The browser reports a violation of the policy right after the redirect.
  await page.waitForTimeout(500);
  expect(problems.filter((text) => text.includes('Content Security Policy'))).toEqual([]);
  await page.close();
});
