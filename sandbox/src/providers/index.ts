/**
 * The emulated providers. The sandbox's routes and ports, the variables of `npm start`, of the tests and of the demos are
 * derived from this list. `npm start` reads the titles from this file as text, because its Node may not run TypeScript.
 */
import type { Provider } from '../wire.ts';
import { cafebazaar } from './cafebazaar.ts';
import { fcm } from './fcm.ts';
import { googlePlay } from './google-play.ts';
import { kavenegar } from './kavenegar.ts';
import { myket } from './myket.ts';
import { zibal } from './zibal.ts';

/** In the order of their ports. */
export const PROVIDERS: readonly (Provider & { title: string })[] = [
  { title: 'Kavenegar', ...kavenegar },
  { title: 'Zibal', ...zibal },
  { title: 'Cafe Bazaar', ...cafebazaar },
  { title: 'Myket', ...myket },
  { title: 'Google Play', ...googlePlay },
  { title: 'FCM', ...fcm },
];

/** The first of their ports. */
export const PROVIDER_PORT = 8091;
export const SMTP_PORT = 8089;

/**
 * The variables with which the product calls the sandbox at `url` (its origin) in place of the providers. `smtpPort` is
 * the port of its SMTP relay on the same host.
 */
export const productEnvironment = (url: string, smtpPort: number = SMTP_PORT): Record<string, string> => ({
  SANDBOX_URL: url,
  SMTP_URL: `smtp://sandbox:sandbox@${new URL(url).hostname}:${smtpPort}`,
  SMTP_FROM: 'Fitness <no-reply@fitness.example>',
  ...Object.assign({}, ...PROVIDERS.map(({ prefix, environment }) => environment(url + prefix))),
});

/** The same with credentials that every emulator refuses: they begin with "invalid". Addresses, keys and numbers stay valid. */
export const refusedEnvironment = (url: string): Record<string, string> =>
  Object.fromEntries(
    Object.entries(productEnvironment(url)).map(([name, value]) => [
      name,
      /^(?:\w+:\/\/|-----BEGIN|\d+$)/.test(value) ? value : `invalid-${value}`,
    ]),
  );
