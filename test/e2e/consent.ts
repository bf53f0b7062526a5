/** A user without scripts in their browser, who signs in and allows what an app asks for. */
import type { Credentials } from '@fitness/contracts/testing/oauth-client.ts';
import { createBrowser } from '@fitness/shared/testing/browser.ts';
import { baseUrl } from './support.ts';

/** @returns where the user is sent back to, with the code */
export const consent = async (authorizationUrl: URL, { login, password }: Credentials): Promise<URL> => {
  const browser = createBrowser(baseUrl());
  const page = await browser.follow(await browser.get(authorizationUrl.href));
  const asked = await browser.follow(await browser.submit(page, 'login', { login, password }));
  const back = await browser.follow(await browser.submit(asked, 'allow'));
  if (back.location?.searchParams.get('code') == null)
    throw new Error(`no code: ${back.status} ${back.html}`);
  return back.location;
};
