/** Signs in and grants an app's request, as a user in a browser without scripts. */
import type { Credentials } from '@fitness/contracts/testing/oauth-client.ts';
import { createBrowser } from '@fitness/shared/testing/browser.ts';
import { baseUrl } from './support.ts';

/** @returns the redirect to the app, with the code */
export const consent = async (authorizationUrl: URL, { login, password }: Credentials): Promise<URL> => {
  const browser = createBrowser(baseUrl());
  const page = await browser.follow(await browser.get(authorizationUrl.href));
  const consentPage = await browser.follow(await browser.submit(page, 'login', { login, password }));
  const back = await browser.follow(await browser.submit(consentPage, 'allow'));
  if (back.location?.searchParams.get('code') == null)
    throw new Error(`no code: ${back.status} ${back.html}`);
  return back.location;
};
